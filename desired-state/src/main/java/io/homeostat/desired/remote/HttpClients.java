package io.homeostat.desired.remote;

import io.homeostat.desired.model.AgentConfig.Tls;
import io.homeostat.desired.platform.ClientTls;
import io.homeostat.desired.platform.HttpRequests;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.IOException;
import java.net.http.HttpClient;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** Clients of web servers. */
final class HttpClients {
    private static final Duration CONNECTING = Duration.ofSeconds(10);

    private HttpClients() {}

    /**
     * One that goes by these certificates as they are now, and follows no redirect.
     *
     * @throws IOException if one of the files can't be used
     */
    static HttpClient open(@Nullable Tls tls, String setting) throws IOException {
        HttpClient.Builder client = HttpRequests.client().connectTimeout(CONNECTING);
        if (tls != null) {
            client.sslContext(context(tls, setting));
        }
        return client.build();
    }

    /** @throws IOException if one of the files can't be used */
    private static SSLContext context(Tls tls, String setting) throws IOException {
        SslContextBuilder builder = SslContextBuilder.forClient().sslProvider(SslProvider.JDK);
        return ((JdkSslContext) ClientTls.configure(builder, tls, setting).build()).context();
    }
}
