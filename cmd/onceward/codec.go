package main

import (
	"net/http"

	"go.temporal.io/sdk/converter"
)

// The environment variables of a codec server, as the Temporal CLI has them.
const (
	codecEndpointVariable = "TEMPORAL_CODEC_ENDPOINT"
	codecAuthVariable     = "TEMPORAL_CODEC_AUTH"
)

// endpoint returns the codec server and what names it.
func (o *options) endpoint(getenv func(string) string) (endpoint, from string) {
	if o.codecEndpoint != "" {
		return o.codecEndpoint, "--codec-endpoint"
	}
	return getenv(codecEndpointVariable), codecEndpointVariable
}

// codec returns the converter that reads and writes payloads through a codec server,
// or nil where none is named.
func (o *options) codec(getenv func(string) string) converter.DataConverter {
	endpoint, _ := o.endpoint(getenv)
	if endpoint == "" {
		return nil
	}
	auth := getenv(codecAuthVariable) // not a flag: a command line is for everybody to see
	return converter.NewRemoteDataConverter(converter.GetDefaultDataConverter(), converter.RemoteDataConverterOptions{
		Endpoint: endpoint,
		ModifyRequest: func(r *http.Request) error {
			if auth != "" {
				r.Header.Set("Authorization", auth)
			}
			return nil
		},
	})
}
