// Package cloud tests package anthropic where a cloud serves Claude: Amazon Bedrock and Google's Vertex AI. It is a module of
// its own, and has nothing but tests: the SDK's ways there depend on the libraries of both clouds, which who asks Anthropic
// itself need not download.
//
//	cd task/agent/anthropic/cloud && go test ./...
package cloud
