// Generic traversal of an operation's atoms and blocks, const and mutable (included by ir.h).
#pragma once

namespace dlcc::relay {
namespace detail {

template <class Op, class Visit>
void atoms(Op& operation, Visit& visit) {
  auto all = [&](auto& list) {
    for (auto& a : list) visit(a);
  };
  std::visit(
      [&](auto& op) {
        using T = std::decay_t<decltype(op)>;
        if constexpr (std::is_same_v<T, Call>) {
          visit(op.callee);
          all(op.args);
        } else if constexpr (std::is_same_v<T, CallTensor>) {
          all(op.args);
        } else if constexpr (std::is_same_v<T, MakeTuple>) {
          all(op.fields);
        } else if constexpr (std::is_same_v<T, Project>) {
          visit(op.tuple);
        } else if constexpr (std::is_same_v<T, If>) {
          visit(op.condition);
        } else if constexpr (std::is_same_v<T, Match> || std::is_same_v<T, RefCreate> || std::is_same_v<T, MatchCast> ||
                             std::is_same_v<T, DefineSizes> || std::is_same_v<T, Alias>) {
          visit(op.value);
        } else if constexpr (std::is_same_v<T, RefRead>) {
          visit(op.ref);
        } else if constexpr (std::is_same_v<T, RefWrite>) {
          visit(op.ref);
          visit(op.value);
        } else {
          static_assert(std::is_same_v<T, MakeFunction> || std::is_same_v<T, RequireSizes>,
                        "an operation is not visited");
        }
      },
      operation);
}

template <class Op, class Visit>
void blocks(Op& operation, Visit& visit) {
  if (auto* branch = std::get_if<If>(&operation)) {
    visit(*branch->then_block);
    visit(*branch->else_block);
  } else if (auto* match = std::get_if<Match>(&operation)) {
    for (auto& clause : match->clauses) visit(*clause.body);
  } else if (auto* closure = std::get_if<MakeFunction>(&operation)) {
    visit(closure->function->body);
  }
}

}  // namespace detail

template <class Visit>
void for_each_atom(const Operation& op, Visit&& visit) {
  detail::atoms(op, visit);
}
template <class Visit>
void for_each_atom(Operation& op, Visit&& visit) {
  detail::atoms(op, visit);
}
template <class Visit>
void for_each_block(const Operation& op, Visit&& visit) {
  detail::blocks(op, visit);
}
template <class Visit>
void for_each_block(Operation& op, Visit&& visit) {
  detail::blocks(op, visit);
}

}  // namespace dlcc::relay
