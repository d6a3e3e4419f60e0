package tool

// Clean is clean, for tests from outside.
var Clean = clean
