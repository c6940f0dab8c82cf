package main

import (
	"context"
	"fmt"
	"strings"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/onceward/onceward/test/sealed"
	"github.com/onceward/onceward/worker"
)

// dial connects as worker.Dial does. A call that is denied is so for ever; polls of the queues whose names end in deaf
// never reach the server, as if nobody had started a worker for them.
func dial(ctx context.Context, cfg worker.Config, deaf, deny, seal, fault string) (client.Client, error) {
	if deaf == "" && deny == "" && seal == "" {
		return worker.Dial(ctx, cfg)
	}
	f, err := sealed.ParseFault(fault)
	if err != nil {
		return nil, err
	}
	options, err := cfg.Temporal.Options()
	if err != nil {
		return nil, err
	}
	switch seal {
	case "codec":
		options.DataConverter = sealed.New(f).Converter()
	case "own":
		options.DataConverter = sealed.New(f).Own()
	}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if poll, ok := req.(*workflowservice.PollActivityTaskQueueRequest); ok && deaf != "" && strings.HasSuffix(poll.GetTaskQueue().GetName(), deaf) {
				<-ctx.Done()
				return ctx.Err()
			}
			if deny != "" && strings.HasSuffix(method, "/"+deny) {
				return status.Error(codes.PermissionDenied, "Request unauthorized.")
			}
			return invoke(ctx, method, req, reply, cc, opts...)
		}))
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("dial temporal: %w", err)
	}
	return c, nil
}
