package aspects

// DefaultModels is a table of well-known models, a fresh copy that the caller may change.
//
// It has the list prices of the makers' standard service as published in November 2026, text only. Prices change: who
// sets a budget in dollars should compare the lines of the models in use and replace what is no longer true.
//
//	models := aspects.DefaultModels()
//	models["claude-opus-5-5"] = aspects.Model{Input: 4_000_000, Output: 20_000_000, CacheRead: 200_000, Window: 1_000_000}
//	models["my-llama"] = aspects.Model{Window: 128_000} // on one's own machine: free
//
// Where a lower price runs for a limited time, the lasting one stands here, so that a budget errs by stopping early. Not
// in it are what is paid besides tokens (searches, storage of caches), discounts for batches, and surcharges for speed or
// for a region: a line under the full name of such a model says what it costs.
func DefaultModels() Models {
	return Models{
		// Anthropic. Most read their cache at a tenth, all write it at 1.25 and 2 times the input.
		"claude-fable-5-1":  {Input: 10_000_000, Output: 50_000_000, CacheRead: 250_000, Window: 1_000_000},
		"claude-mythos-5-1": {Input: 10_000_000, Output: 50_000_000, CacheRead: 250_000, Window: 1_000_000},
		"claude-fable-5":    {Input: 10_000_000, Output: 50_000_000, Window: 1_000_000},
		"claude-mythos-5":   {Input: 10_000_000, Output: 50_000_000, Window: 1_000_000},
		"claude-opus-5-5":   {Input: 4_000_000, Output: 20_000_000, CacheRead: 200_000, Window: 1_000_000},
		"claude-opus-5":     {Input: 5_000_000, Output: 25_000_000, Window: 1_000_000},
		"claude-opus-4-8":   {Input: 5_000_000, Output: 25_000_000, Window: 1_000_000},
		"claude-opus-4-7":   {Input: 5_000_000, Output: 25_000_000, Window: 1_000_000},
		"claude-opus-4-6":   {Input: 5_000_000, Output: 25_000_000, Window: 1_000_000},
		"claude-opus-4-5":   {Input: 5_000_000, Output: 25_000_000, Window: 200_000},
		"claude-opus-4-1":   {Input: 15_000_000, Output: 75_000_000, Window: 200_000},
		"claude-opus-4-0":   {Input: 15_000_000, Output: 75_000_000, Window: 200_000},
		"claude-opus-4":     {Input: 15_000_000, Output: 75_000_000, Window: 200_000},
		"claude-sonnet-5-5": {Input: 2_000_000, Output: 10_000_000, CacheRead: 100_000, Window: 1_000_000},
		"claude-sonnet-5":   {Input: 2_000_000, Output: 10_000_000, Window: 1_000_000},
		"claude-sonnet-4-6": {Input: 3_000_000, Output: 15_000_000, Window: 1_000_000},
		"claude-sonnet-4-5": dearer(200_000, Model{Input: 3_000_000, Output: 15_000_000, Window: 200_000}),
		"claude-sonnet-4-0": dearer(200_000, Model{Input: 3_000_000, Output: 15_000_000, Window: 200_000}),
		"claude-sonnet-4":   dearer(200_000, Model{Input: 3_000_000, Output: 15_000_000, Window: 200_000}),
		"claude-3-7-sonnet": {Input: 3_000_000, Output: 15_000_000, Window: 200_000},
		"claude-3-5-sonnet": {Input: 3_000_000, Output: 15_000_000, Window: 200_000},
		"claude-haiku-5-5": {Input: 100_000, Output: 500_000, Window: 1_000_000,
			Long: &Long{Above: 100_000, Input: 500_000, Output: 2_500_000}},
		"claude-haiku-4-5": {Input: 1_000_000, Output: 5_000_000, Window: 200_000},
		"claude-3-5-haiku": {Input: 800_000, Output: 4_000_000, Window: 200_000},

		// OpenAI. Up to gpt-5.5 writing the cache costs nothing extra, and no writes are reported. The pro models give no
		// discount for cached input.
		"gpt-6.2-astra":         dearer(272_000, Model{Input: 8_000_000, Output: 40_000_000, CacheRead: 400_000, Window: 1_050_000}),
		"gpt-6.2-sol":           dearer(272_000, Model{Input: 2_000_000, Output: 10_000_000, CacheRead: 100_000, Window: 1_050_000}),
		"gpt-6.1-sol":           dearer(272_000, Model{Input: 2_000_000, Output: 10_000_000, CacheRead: 100_000, Window: 1_050_000}),
		"gpt-6.1-terra":         dearer(272_000, Model{Input: 1_000_000, Output: 5_000_000, CacheRead: 50_000, CacheWrite1h: 2_500_000, Window: 1_050_000}),
		"gpt-6-astra":           dearer(272_000, Model{Input: 10_000_000, Output: 50_000_000, Window: 1_050_000}),
		"gpt-6-sol":             dearer(272_000, Model{Input: 2_000_000, Output: 10_000_000, Window: 1_050_000}),
		"gpt-6-luna":            dearer(272_000, Model{Input: 100_000, Output: 500_000, Window: 1_050_000}),
		"gpt-5.6":               dearer(272_000, Model{Input: 5_000_000, Output: 30_000_000, Window: 1_050_000}), // is gpt-5.6-sol
		"gpt-5.6-sol":           dearer(272_000, Model{Input: 5_000_000, Output: 30_000_000, Window: 1_050_000}), // $4 and $20 for some time
		"gpt-5.6-terra":         dearer(272_000, Model{Input: 2_000_000, Output: 12_000_000, Window: 1_050_000}),
		"gpt-5.6-luna":          dearer(272_000, Model{Input: 200_000, Output: 1_200_000, Window: 1_050_000}),
		"gpt-5.5":               dearer(272_000, Model{Input: 5_000_000, Output: 30_000_000, Window: 1_050_000}),
		"gpt-5.5-pro":           dearer(272_000, Model{Input: 30_000_000, Output: 180_000_000, CacheRead: 30_000_000, Window: 1_050_000}),
		"gpt-5.4":               dearer(272_000, Model{Input: 2_500_000, Output: 15_000_000, Window: 1_050_000}),
		"gpt-5.4-pro":           dearer(272_000, Model{Input: 30_000_000, Output: 180_000_000, CacheRead: 30_000_000, Window: 1_050_000}),
		"gpt-5.4-mini":          {Input: 750_000, Output: 4_500_000, Window: 400_000},
		"gpt-5.4-nano":          {Input: 200_000, Output: 1_250_000, Window: 400_000},
		"gpt-5.3-codex":         {Input: 1_750_000, Output: 14_000_000, Window: 400_000},
		"gpt-5.3-chat":          {Input: 1_750_000, Output: 14_000_000, Window: 128_000},
		"gpt-5.2":               {Input: 1_750_000, Output: 14_000_000, Window: 400_000},
		"gpt-5.2-codex":         {Input: 1_750_000, Output: 14_000_000, Window: 400_000},
		"gpt-5.2-chat":          {Input: 1_750_000, Output: 14_000_000, Window: 128_000},
		"gpt-5.2-pro":           {Input: 21_000_000, Output: 168_000_000, CacheRead: 21_000_000, Window: 400_000},
		"gpt-5.1":               {Input: 1_250_000, Output: 10_000_000, Window: 400_000},
		"gpt-5.1-codex":         {Input: 1_250_000, Output: 10_000_000, Window: 400_000},
		"gpt-5.1-codex-max":     {Input: 1_250_000, Output: 10_000_000, Window: 400_000},
		"gpt-5.1-codex-mini":    {Input: 250_000, Output: 2_000_000, Window: 400_000},
		"gpt-5.1-chat":          {Input: 1_250_000, Output: 10_000_000, Window: 128_000},
		"gpt-5":                 {Input: 1_250_000, Output: 10_000_000, Window: 400_000},
		"gpt-5-codex":           {Input: 1_250_000, Output: 10_000_000, Window: 400_000},
		"gpt-5-chat":            {Input: 1_250_000, Output: 10_000_000, Window: 128_000},
		"gpt-5-mini":            {Input: 250_000, Output: 2_000_000, Window: 400_000},
		"gpt-5-nano":            {Input: 50_000, Output: 400_000, Window: 400_000},
		"gpt-5-pro":             {Input: 15_000_000, Output: 120_000_000, CacheRead: 15_000_000, Window: 400_000},
		"gpt-4.1":               {Input: 2_000_000, Output: 8_000_000, CacheRead: 500_000, Window: 1_047_576},
		"gpt-4.1-mini":          {Input: 400_000, Output: 1_600_000, CacheRead: 100_000, Window: 1_047_576},
		"gpt-4.1-nano":          {Input: 100_000, Output: 400_000, CacheRead: 25_000, Window: 1_047_576},
		"gpt-4o":                {Input: 2_500_000, Output: 10_000_000, CacheRead: 1_250_000, Window: 128_000},
		"gpt-4o-2024-05-13":     {Input: 5_000_000, Output: 15_000_000, CacheRead: 5_000_000, Window: 128_000},
		"gpt-4o-mini":           {Input: 150_000, Output: 600_000, CacheRead: 75_000, Window: 128_000},
		"o4-mini":               {Input: 1_100_000, Output: 4_400_000, CacheRead: 275_000, Window: 200_000},
		"o4-mini-deep-research": {Input: 2_000_000, Output: 8_000_000, CacheRead: 500_000, Window: 200_000},
		"o3":                    {Input: 2_000_000, Output: 8_000_000, CacheRead: 500_000, Window: 200_000},
		"o3-deep-research":      {Input: 10_000_000, Output: 40_000_000, CacheRead: 2_500_000, Window: 200_000},
		"o3-mini":               {Input: 1_100_000, Output: 4_400_000, CacheRead: 550_000, Window: 200_000},
		"o3-pro":                {Input: 20_000_000, Output: 80_000_000, CacheRead: 20_000_000, Window: 200_000},
		"o1":                    {Input: 15_000_000, Output: 60_000_000, CacheRead: 7_500_000, Window: 200_000},
		"o1-pro":                {Input: 150_000_000, Output: 600_000_000, CacheRead: 150_000_000, Window: 200_000},

		// Google. 3.6, 3.7 and 3.8 flash cost half of this until the end of 2026, 4 carbon and argon until November.
		"gemini-4-neon":         {Input: 3_000_000, Output: 15_000_000, CacheRead: 150_000, Window: 1_048_576},
		"gemini-4-carbon":       {Input: 4_000_000, Output: 20_000_000, CacheRead: 200_000, Window: 1_048_576},
		"gemini-4-argon":        {Input: 4_000_000, Output: 20_000_000, CacheRead: 200_000, Window: 1_048_576},
		"gemini-4-hydrogen":     {Input: 1_500_000, Output: 7_500_000, CacheRead: 75_000, Window: 1_048_576},
		"gemini-3.8-flash":      {Input: 1_500_000, Output: 7_500_000, Window: 1_048_576},
		"gemini-3.7-flash":      {Input: 1_500_000, Output: 7_500_000, Window: 1_048_576},
		"gemini-3.6-flash":      {Input: 1_500_000, Output: 7_500_000, Window: 1_048_576},
		"gemini-3.5-flash":      {Input: 1_500_000, Output: 9_000_000, Window: 1_048_576},
		"gemini-3.5-flash-lite": {Input: 300_000, Output: 2_500_000, Window: 1_048_576},
		"gemini-3.1-pro":        dearer(200_000, Model{Input: 2_000_000, Output: 12_000_000, Window: 1_048_576}),
		"gemini-3.1-flash-lite": {Input: 250_000, Output: 1_500_000, Window: 1_048_576},
		"gemini-3-pro":          dearer(200_000, Model{Input: 2_000_000, Output: 12_000_000, Window: 1_048_576}),
		"gemini-3-flash":        {Input: 500_000, Output: 3_000_000, Window: 1_048_576},
		"gemini-2.5-pro":        dearer(200_000, Model{Input: 1_250_000, Output: 10_000_000, Window: 1_048_576}),
		"gemini-2.5-flash":      {Input: 300_000, Output: 2_500_000, Window: 1_048_576},
		"gemini-2.5-flash-lite": {Input: 100_000, Output: 400_000, Window: 1_048_576},
		"gemini-2.0-flash":      {Input: 100_000, Output: 400_000, CacheRead: 25_000, Window: 1_048_576},
	}
}

// dearer gives a model the prices of long prompts as most makers set them: twice for input, half as much again for
// output.
func dearer(above int64, m Model) Model {
	m.Long = &Long{Above: above, Input: 2 * m.Input, Output: m.Output * 3 / 2, CacheRead: 2 * m.CacheRead,
		CacheWrite: 2 * m.CacheWrite, CacheWrite1h: 2 * m.CacheWrite1h}
	return m
}
