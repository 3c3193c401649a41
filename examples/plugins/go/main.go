// A plugin that greets with its configuration, and counts its launches in its state directory.
package main

//go:generate protoc -I ../java/src/main/proto --go_out=. --go_opt=Mplugin_comm.proto=./plugincomm --go-grpc_out=. --go-grpc_opt=Mplugin_comm.proto=./plugincomm plugin_comm.proto

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	pb "example.com/greeter/plugincomm"
)

func main() {
	protocol := flag.String("protocol", "unix", "what to listen on")
	address := flag.String("address", "", "where to listen")
	flag.String("errorlogfile", "", "for last words; standard error is logged, too")
	flag.Parse()

	listener, err := net.Listen(*protocol, *address)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterGuestAgentPluginServer(server, &greeter{stop: server.GracefulStop})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		server.GracefulStop()
	}()
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
	fmt.Println("goodbye")
}

// greeter is called by several goroutines at once.
type greeter struct {
	pb.UnimplementedGuestAgentPluginServer
	stop     func()
	launches atomic.Int64
}

func (g *greeter) Start(_ context.Context, request *pb.StartRequest) (*pb.StartResponse, error) {
	if err := greet(request.GetStructConfig()); err != nil {
		return nil, err
	}
	launches, err := count(filepath.Join(request.GetConfig().GetStateDirectoryPath(), "launches"))
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	g.launches.Store(launches)
	return &pb.StartResponse{}, nil
}

func (g *greeter) Apply(_ context.Context, request *pb.ApplyRequest) (*pb.ApplyResponse, error) {
	// What has a string is an event of the machine, such as its shutdown.
	if _, isEvent := request.GetServiceConfig().(*pb.ApplyRequest_StringConfig); !isEvent {
		if err := greet(request.GetStructConfig()); err != nil {
			return nil, err
		}
	}
	return &pb.ApplyResponse{}, nil
}

// GetStatus says code 0. One that can't do its work for now would say so with another code, or ask for a restart by an error.
func (g *greeter) GetStatus(context.Context, *pb.GetStatusRequest) (*pb.Status, error) {
	return &pb.Status{Results: []string{fmt.Sprintf("launch %d", g.launches.Load())}}, nil
}

// Stop with cleanup comes before a removal: what the plugin made outside of its state directory, which goes anyway, has to go. This
// one made nothing there. All has to be done before the answer, as SIGTERM follows that at once.
func (g *greeter) Stop(_ context.Context, request *pb.StopRequest) (*pb.StopResponse, error) {
	if request.GetCleanup() {
		fmt.Println("stopping for good")
	} else {
		fmt.Println("stopping")
	}
	// Waits for this call, too.
	go g.stop()
	return &pb.StopResponse{}, nil
}

// greet begins with a configuration, or refuses it.
func greet(config *structpb.Struct) error {
	greeting := config.GetFields()["greeting"].GetStringValue()
	if greeting == "" {
		return status.Error(codes.InvalidArgument, "no greeting; declare config: {struct: {greeting: hello}}")
	}
	fmt.Println(greeting)
	return nil
}

func count(file string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	var launches int64
	if err == nil {
		if launches, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err != nil {
			return 0, err
		}
	}
	launches++
	return launches, os.WriteFile(file, []byte(fmt.Sprintln(launches)), 0o600)
}
