// Package journal is what agents of all kinds do with the journal of their task: they look records up, write them, also beside a
// call, keep conversations of one name apart, and book what was used by attempts that died before they were committed.
package journal
