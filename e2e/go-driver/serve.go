package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// object is a message as JSON.
type object = map[string]any

var names = []protoreflect.FullName{"hashicorp.nomad.plugins.base.proto.BasePlugin", "hashicorp.nomad.plugins.drivers.proto.Driver"}

func describedServices(file string) ([]protoreflect.ServiceDescriptor, error) {
	bytes, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(bytes, &set); err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	var services []protoreflect.ServiceDescriptor
	for _, name := range names {
		found, err := files.FindDescriptorByName(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		services = append(services, found.(protoreflect.ServiceDescriptor))
	}
	return services, nil
}

type served struct {
	plugin.NetRPCUnsupportedPlugin
	services []protoreflect.ServiceDescriptor
	driver   *driver
}

func (s *served) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	for _, service := range s.services {
		desc := grpc.ServiceDesc{ServiceName: string(service.FullName()), HandlerType: (*any)(nil)}
		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			if method.IsStreamingServer() {
				desc.Streams = append(desc.Streams, s.stream(method))
			} else {
				desc.Methods = append(desc.Methods, s.unary(method))
			}
		}
		server.RegisterService(&desc, s)
	}
	return nil
}

func (s *served) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a plugin is nobody's client")
}

func (s *served) unary(method protoreflect.MethodDescriptor) grpc.MethodDesc {
	return grpc.MethodDesc{
		MethodName: string(method.Name()),
		Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := dynamicpb.NewMessage(method.Input())
			if err := decode(in); err != nil {
				return nil, err
			}
			request, err := fromMessage(in)
			if err != nil {
				return nil, err
			}
			answer, err := s.driver.call(ctx, string(method.Name()), request)
			if err != nil {
				return nil, err
			}
			return toMessage(answer, method.Output())
		},
	}
}

func (s *served) stream(method protoreflect.MethodDescriptor) grpc.StreamDesc {
	return grpc.StreamDesc{
		StreamName:    string(method.Name()),
		ServerStreams: true,
		ClientStreams: method.IsStreamingClient(),
		Handler: func(_ any, stream grpc.ServerStream) error {
			return s.driver.tell(stream.Context(), string(method.Name()), func(answer object) error {
				message, err := toMessage(answer, method.Output())
				if err != nil {
					return err
				}
				return stream.SendMsg(message)
			})
		},
	}
}

func fromMessage(message proto.Message) (object, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(message)
	if err != nil {
		return nil, err
	}
	var all object
	return all, json.Unmarshal(text, &all)
}

func toMessage(all object, descriptor protoreflect.MessageDescriptor) (proto.Message, error) {
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	message := dynamicpb.NewMessage(descriptor)
	return message, protojson.Unmarshal(text, message)
}
