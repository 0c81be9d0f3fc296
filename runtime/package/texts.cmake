# Writes the manual pages and shell completions that the program DLCC prints into the folders man1, bash, zsh and fish of
# FOLDER.
function(write_text path)
  execute_process(COMMAND ${DLCC} ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${FOLDER}/${path} "${text}")
endfunction()

file(REMOVE_RECURSE ${FOLDER})
write_text(bash/dlcc --print-completion=bash)
write_text(zsh/_dlcc --print-completion=zsh)
write_text(fish/dlcc.fish --print-completion=fish)

write_text(man1/dlcc.1 --print-man-page)
execute_process(COMMAND ${DLCC} --print-commands OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" commands "${commands}")
foreach(command ${commands})
  write_text(man1/dlcc-${command}.1 ${command} --print-man-page)
endforeach()
file(GLOB pages ${FOLDER}/man1/*.1)
execute_process(COMMAND gzip -9 -n -f ${pages} COMMAND_ERROR_IS_FATAL ANY)
