// Package storetest proves that an engine.Store keeps its promises, and breaks one on purpose.
//
// Durability is a list of promises that a store can miss without any test of the engine noticing: a lease that the same
// owner claims twice, a commit whose acknowledgement was lost, a dedupe key that is forgotten once its item is read.
// Here each rule of the interface is a subtest of one suite that every store runs, and random calls are compared with a
// slow, obvious model of a store.
//
//	func TestStore(t *testing.T) {
//		storetest.Test(t, func(t testing.TB) storetest.Open {
//			path := filepath.Join(t.TempDir(), "runs.db")
//			return func(t testing.TB, clock func() time.Time) engine.Store {
//				s, err := sqlite.Open(context.Background(), sqlite.Config{Path: path, Clock: clock})
//				…
//				return s
//			}
//		})
//	}
//
// Faulty wraps a store that fails at its n-th call, before or after the call has had its effect. A test of the engine
// runs its scenario with n = 1, 2, … until one passes without reaching n.
//
// # What is not proven
//
// That a write survives a power cut or a kill: a suite inside the process can't tell. That needs a process that is
// killed. How fast a store is.
package storetest
