package rank

import "strings"

// stop holds the English words that say nothing about what a text is about: a row that shares only these with a query
// is not a match. Words of time and number (last, next, ago, first, many) are not among them: they tell rows apart.
var stop = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(`
a about above after again against all also am an and any are arent as at be because been before being below between both
but by can cant cannot could couldnt did didnt do does doesnt doing dont down during each either else etc ever few for from further
get gets getting got had hadnt has hasnt have havent having he hed hell her here heres hers herself hes him himself his how hows
i id if ill im in into is isnt it itd itll its itself ive just let lets like ll may me might more most much must my myself
no nor not now of off oh on once only onto or other ought our ours ourselves out over own per please re s same shall she
shed shell shes should shouldnt so some such t than that thatll thats the their theirs them themselves then there theres these
they theyd theyll theyre theyve this those though through thus till to too under until up upon us ve very via was wasnt we wed well
were werent weve what whats whatever when whens where wheres whether which while who whos whom whose why whys will with within without wont would
wouldnt yes yet you youd youll your youre yours yourself yourselves youve
`) {
		all[w] = true
	}
	return all
}()
