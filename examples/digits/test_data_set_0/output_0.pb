
BprobabilitiesJ(ÕDë+‚Yˆ2ıÊ/5²“1ºm-òYF1€.ğÿ?ÔV‡4d‘3