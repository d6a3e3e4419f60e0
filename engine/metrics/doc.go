// Package metrics keeps what an engine counts, and renders it as the text format of Prometheus. It needs no client
// library:
//
//	var counted metrics.Registry
//	e, err := engine.Open(ctx, engine.Config{Store: db, Workflows: workflows, Metrics: &counted})
//	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
//		w.Header().Set("Content-Type", metrics.ContentType)
//		_, _ = counted.WriteTo(w)
//	})
//
// Who has a registry of another kind implements engine.Metrics, a single method. The names are constants of package
// engine.
//
// The counters of a Registry begin with the process. The numbers of all that a store has ever run are recomputed from its
// frames by engine.MeasureRun, or on the command line by "metrics".
package metrics

// ContentType is the media type of what Registry.WriteTo writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"
