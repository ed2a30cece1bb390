package main

import "syscall"

// dieWithUs has the kernel end a child when we end, however we end.
func dieWithUs(attr *syscall.SysProcAttr, with syscall.Signal) { attr.Pdeathsig = with }
