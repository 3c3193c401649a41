package io.homeostat.desired.remote;

import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import io.homeostat.controlplane.TestAuthority;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import javax.net.ssl.SSLParameters;

/** A web server on loopback that wants to know who comes. */
final class MutualTlsServer {
    private MutualTlsServer() {}

    /** Starts one; the caller stops it. */
    static HttpsServer start(TestAuthority authority, TestAuthority clients, String path, HttpHandler handler)
            throws IOException {
        TestAuthority.Issued issued = authority.issue("server");
        JdkSslContext context = (JdkSslContext) SslContextBuilder.forServer(issued.key(), issued.certificate())
                .sslProvider(SslProvider.JDK)
                .trustManager(clients.certificate())
                .build();
        HttpsServer server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(context.context()) {
            @Override
            public void configure(HttpsParameters parameters) {
                SSLParameters wanted = getSSLContext().getDefaultSSLParameters();
                wanted.setNeedClientAuth(true);
                parameters.setSSLParameters(wanted);
            }
        });
        server.createContext(path, handler);
        server.start();
        return server;
    }
}
