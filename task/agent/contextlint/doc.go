// Package contextlint finds, before anything runs, what will make the windows of agents dear or confusing. It is pure: the
// beginnings of conversations go in, findings come out. Each is a warning, not an error: a run works nevertheless.
//
//	for _, f := range contextlint.Check(tasks) {
//		fmt.Println(f.Code, f.Paths, f.What, f.Why, f.Do)
//	}
//
// A task is given as several renders of it, in runs with other names and at other times, and otherwise the same. What
// differs between them in the prefix, which should be the same for all of an agent's conversations, is what breaks the provider's cache.
//
// # How texts are compared
//
// Descriptions of tools overlap if at least 60 % of the words that stand in either of them stand in both; small words do not
// count, and descriptions of less than 3 words only overlap if they are equal. Examples are near-duplicates if that is so of 60 % of
// their runs of three words.
//
// # What is not safe
//
// Texts are judged by their looks. A date and time of day, and an id, in the prefix are taken for changing ones; a bare
// date only if it is close to the time of the render. What only changes from one process to the next, such as a tool set that is
// put together when the program starts, is not found.
package contextlint
