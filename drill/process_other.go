//go:build !linux

package main

import "syscall"

// dieWithUs does nothing here: a child is ended by us, or not at all.
func dieWithUs(*syscall.SysProcAttr, syscall.Signal) {}
