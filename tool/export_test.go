package tool

// Clean is clean, for tests from outside.
var Clean = clean

// Locked counts the directories whose names somebody has locked.
func Locked() int {
	namedLocks.mu.Lock()
	defer namedLocks.mu.Unlock()
	return len(namedLocks.of)
}
