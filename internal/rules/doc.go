// Package rules is what the law of a place says about calling people there, as data: in which
// hours, how often, and whether only with their consent. A rule names its source and the date
// it was read; what nobody has read up has no rule, which is not the same as being allowed.
//
// Rules of one place add up: all of them bind, those of a country and those of its part.
package rules
