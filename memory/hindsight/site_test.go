package hindsight_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/cairnrun/cairn/memory/hindsight"
	"github.com/cairnrun/cairn/memory/hindsight/hindsighttest"
)

func TestContract(t *testing.T) {
	for _, version := range []string{"0.9.1", "1.1.0"} {
		t.Run(version, func(t *testing.T) {
			fake := hindsighttest.NewServer(version)
			fake.Key = "secret"
			ts := httptest.NewServer(fake)
			defer ts.Close()
			config := hindsight.Config{URL: ts.URL + "/", APIKey: "secret", BankPrefix: "dev-",
				HTTP: &http.Client{Transport: newContract(t, http.DefaultTransport, t.Errorf)}}
			cases(t, site{config: config, client: newClient(t, config), run: "1", model: func(_ *testing.T, bank, id string) {
				fake.AddModel(bank, hindsighttest.Model{ID: id, Name: "Primer", Question: "What matters?", Content: "# All"})
			}})
		})
	}
}

// TestLive runs the same cases against the server of HINDSIGHT_URL. What differs from the OpenAPI document is logged: it
// is of one version.
func TestLive(t *testing.T) {
	config, ok := hindsight.FromEnv()
	if !ok {
		t.Skip("HINDSIGHT_URL is not set; make hindsight-live starts a server and runs this")
	}
	config.BankPrefix += "cairntest-"
	config.HTTP = &http.Client{Transport: newContract(t, http.DefaultTransport, t.Logf)}
	client := newClient(t, config)
	v, err := client.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("Hindsight %s", v.API)
	cases(t, site{config: config, client: client, run: strconv.FormatInt(time.Now().UnixNano(), 36), model: func(t *testing.T, bank, id string) {
		// Without an LLM the server makes the model and then fails to fill it, with 500.
		body := []byte(`{"id":"` + id + `","name":"Primer","source_query":"What matters?"}`)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, config.URL+"/v1/default/banks/"+bank+"/mental-models", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+config.APIKey)
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}})
}
