package router

import (
	"strings"
	"testing"
)

func TestBaseURLsAreCheckedByKindAndHost(t *testing.T) {
	const azure = "want https://<resource>.openai.azure.com/openai/v1/"
	for name, row := range map[string]struct {
		kind, url string
		want      string // empty: it is taken
	}{
		"azure's form":                             {KindAzure, "https://x.openai.azure.com/openai/v1/", ""},
		"azure's form without the slash":           {KindAzure, "https://x.openai.azure.com/openai/v1", ""},
		"azure's form in capitals, with its port":  {KindAzure, "https://X.OpenAI.Azure.com:443/OpenAI/v1/", ""},
		"azure by a bearer token":                  {KindOpenAI, "https://x.openai.azure.com/openai/v1/", ""},
		"foundry":                                  {KindAzure, "https://x.services.ai.azure.com/openai/v1/", ""},
		"a project of foundry":                     {KindAzure, "https://x.services.ai.azure.com/api/projects/p/openai/v1/", ""},
		"cognitive services":                       {KindAzure, "https://x.cognitiveservices.azure.com/openai/v1/", ""},
		"azure of the US government":               {KindAzure, "https://x.openai.azure.us/openai/v1/", ""},
		"azure in China":                           {KindAzure, "https://x.openai.azure.cn/openai/v1/", ""},
		"a gateway with a path of its own":         {KindAzure, "https://apim.azure-api.net/models/eu", ""},
		"a scripted pool":                          {KindAzure, "http://127.0.0.1:9101", ""},
		"E24 azure without a path":                 {KindAzure, "https://x.openai.azure.com", azure},
		"E24 azure with half a path":               {KindAzure, "https://x.openai.azure.com/openai", azure},
		"E24 azure with too much of a path":        {KindAzure, "https://x.openai.azure.com/openai/v1/responses", azure},
		"azure with chat completions":              {KindAzure, "https://x.openai.azure.com/openai/v1/chat/completions", azure},
		"azure by deployment":                      {KindAzure, "https://x.openai.azure.com/openai/deployments/gpt/", azure},
		"azure by deployment behind a gateway":     {KindAzure, "https://gw.example/openai/deployments/gpt/", "want a path that ends in /openai/v1/"},
		"azure with an api-version":                {KindAzure, "https://x.openai.azure.com/openai/v1/?api-version=preview", azure},
		"azure with OpenAI's path":                 {KindAzure, "https://x.openai.azure.com/v1/", azure},
		"azure with a doubled slash":               {KindAzure, "https://x.openai.azure.com/openai//v1/", "keep one slash"},
		"azure in the clear":                       {KindAzure, "http://x.openai.azure.com/openai/v1/", azure},
		"azure without a scheme":                   {KindAzure, "x.openai.azure.com/openai/v1/", azure},
		"azure without a resource":                 {KindAzure, "https://openai.azure.com/openai/v1/", azure},
		"azure, nothing given":                     {KindAzure, "", "such as https://<resource>.openai.azure.com/openai/v1/"},
		"foundry's inference endpoint":             {KindAzure, "https://x.services.ai.azure.com/models", "want https://<resource>.services.ai.azure.com/openai/v1/"},
		"a project of foundry alone":               {KindAzure, "https://x.services.ai.azure.com/api/projects/p", "/api/projects/<project>/openai/v1/"},
		"a kind that Azure's host has not":         {KindCompatible, "https://x.openai.azure.com/", azure},
		"OpenAI":                                   {KindOpenAI, "https://api.openai.com/v1/", ""},
		"OpenAI in Europe":                         {KindOpenAI, "https://eu.api.openai.com/v1", ""},
		"OpenAI without its version":               {KindOpenAI, "https://api.openai.com/", "want https://api.openai.com/v1/"},
		"OpenAI with too much":                     {KindOpenAI, "https://api.openai.com/v1/responses/", "want https://api.openai.com/v1/"},
		"OpenAI with a key of Azure":               {KindAzure, "https://api.openai.com/v1/", "want kind openai"},
		"compatible":                               {KindCompatible, "https://openrouter.ai/api/v1/", ""},
		"compatible at the root":                   {KindCompatible, "http://127.0.0.1:8000", ""},
		"compatible whose host is named responses": {KindCompatible, "http://responses:8000/", ""},
		"compatible with responses":                {KindCompatible, "https://gw.example/v1/responses", "ends in /responses"},
		"compatible with chat completions":         {KindCompatible, "https://gw.example/v1/chat/completions/", "ends in /chat/completions"},
		"compatible with Completions":              {KindCompatible, "https://gw.example/v1/Completions", "ends in /completions"},
		"compatible with a query":                  {KindCompatible, "https://gw.example/v1?team=a", "holds a query"},
		"compatible with a password":               {KindCompatible, "https://u:p@gw.example/v1", "holds a user or password"},
		"E24 azure with a slash too many":          {KindAzure, "https://x.openai.azure.com/openai/v1//", "keep one slash"},
		"E24 azure with a slash before":            {KindAzure, "https://x.openai.azure.com//openai/v1/", "keep one slash"},
		"E24 OpenAI with a slash too many":         {KindOpenAI, "https://api.openai.com/v1//", "keep one slash"},
		"E24 a scheme twice":                       {KindCompatible, "https://https://gw.example/v1", "none of 1 to 65535"},
		"E24 an invisible character in the host":   {KindOpenAI, "https://api.openai.com\u200b/v1/", "U+200B"},
		"E24 an invisible character in the path":   {KindAzure, "https://x.openai.azure.com/openai/v1\u200b/", "U+200B"},
		"E24 a blank at the end":                   {KindCompatible, "https://gw.example/v1 /", "a space"},
		"E24 an example that nobody filled in":     {KindAzure, "https://<resource>.openai.azure.com/openai/v1/", "to be filled in"},
		"E24 azure without a resource, but a dot":  {KindAzure, "https://.openai.azure.com/openai/v1/", "an empty name"},
		"E24 azure at another port":                {KindAzure, "https://x.openai.azure.com:8443/openai/v1/", azure},
		"E24 OpenAI at another port":               {KindOpenAI, "https://api.openai.com:8080/v1", "want https://api.openai.com/v1/"},
		"E24 a port that is none":                  {KindCompatible, "https://gw.example:99999/v1", "none of 1 to 65535"},
		"E24 dots in the path":                     {KindCompatible, "https://gw.example/x/../v1", "is . or .."},
		"E24 escaped dots in the path":             {KindCompatible, "https://gw.example/v1/%2E%2e/", "is . or .."},
		"E24 a project of foundry without a name":  {KindAzure, "https://x.services.ai.azure.com/api/projects//openai/v1", "keep one slash"},
		"E24 another API's path":                   {KindCompatible, "https://gw.example/v1/messages", "ends in /messages"},
		"E24 a part of the API below":              {KindCompatible, "https://gw.example/v1/responses/compact", "ends in /responses/compact"},
		"E24 ollama's own path":                    {KindCompatible, "http://127.0.0.1:11434/api/chat", "ends in /api/chat"},
		"a host by its number":                     {KindCompatible, "http://[::1]:8080/v1", ""},
		"a path with dots inside":                  {KindCompatible, "https://gw.example/v1.5/a..b/", ""},
		"compatible with another scheme":           {KindCompatible, "ws://gw.example/v1", "not an absolute http or https URL"},
	} {
		err := Resource{Kind: row.kind, API: APIResponses, BaseURL: row.url}.CheckEndpoint()
		switch {
		case row.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case row.want != "" && (err == nil || !strings.HasSuffix(err.Error(), row.want) && !strings.Contains(err.Error(), row.want)):
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
}

func TestTheURLOfRequestsIsTold(t *testing.T) {
	for want, r := range map[string]Resource{
		"https://x.openai.azure.com/openai/v1/responses": {Kind: KindAzure, API: APIResponses, BaseURL: "https://x.openai.azure.com/openai/v1"},
		"http://127.0.0.1:1/v1/chat/completions":         {Kind: KindCompatible, API: APIChatCompletions, BaseURL: "http://127.0.0.1:1/v1/"},
	} {
		if got := r.RequestURL(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestKeysArePrintableASCII(t *testing.T) {
	for key, want := range map[string]string{
		"sk-abc+/=_~!":            "",
		"":                        "is empty",
		"\ufeffsk-abc":            "has U+FEFF (a byte order mark) at character 1",
		"sk\u200babc":             "has U+200B (a zero-width space) at character 3",
		"sk-\u0430bc":             "has U+0430 at character 4",
		"\u201csk-abc\u201d":      "has U+201C (a typographic quote) at character 1",
		"sk abc":                  "has U+0020 (a space) at character 3",
		"sk\r\nabc":               "has U+000D (a line break) at character 3",
		"s\x00k\x00":              "has U+0000 (NUL; is the file in UTF-16?) at character 2",
		"sk\xffabc":               "is no text in UTF-8: byte 0xFF at character 3",
		"sk\ufffdabc":             "has U+FFFD at character 3",
		"sk\x7fabc":               "has U+007F at character 3",
		`"sk-abc"`:                "stands in quotes",
		"'sk-abc'":                "stands in quotes",
		strings.Repeat("a", 8193): "is longer than 8192 bytes",
	} {
		err := Secret(key).Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.20q: %v, want %q", key, err, want)
		}
		if err != nil && len(key) > 3 && strings.Contains(err.Error(), "abc") {
			t.Errorf("the key is in %v", err)
		}
	}
}
