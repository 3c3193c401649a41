package io.homeostat.sample.driver;

import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.goplugin.GRPCStdioGrpc.GRPCStdioImplBase;
import io.homeostat.proto.goplugin.StdioData;
import java.nio.charset.StandardCharsets;

/** What this plugin prints. Each connection hears all of it. */
final class StdioService extends GRPCStdioImplBase {
    private final int lines;

    StdioService(int lines) {
        this.lines = lines;
    }

    @Override
    public void streamStdio(Empty request, StreamObserver<StdioData> response) {
        Outlet<StdioData> out = new Outlet<>(response);
        // Stays open afterwards: a plugin may print at any time.
        Background.run("print", () -> print(out));
    }

    private void print(Outlet<StdioData> out) {
        try {
            for (int i = 1; i <= lines; i++) {
                if (!out.send(StdioData.newBuilder()
                        .setChannel(StdioData.Channel.STDOUT)
                        .setData(ByteString.copyFrom("line " + i + "\n", StandardCharsets.UTF_8))
                        .build())) {
                    return;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
