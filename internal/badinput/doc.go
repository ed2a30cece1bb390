// Package badinput holds nothing but a test: thousands of bad inputs in every form in which any can
// come, among good ones, over a real database, the real webhooks and real carriers' packages. Nothing
// panics, nothing is lost, nothing bad stands in the way of what is good, and no phone rings twice.
package badinput
