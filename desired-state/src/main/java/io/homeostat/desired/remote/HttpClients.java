package io.homeostat.desired.remote;

import io.homeostat.desired.model.AgentConfig.Tls;
import io.homeostat.desired.platform.ClientTls;
import io.homeostat.desired.platform.HttpRequests;
import java.io.IOException;
import java.net.http.HttpClient;
import java.time.Duration;
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
            client.sslContext(ClientTls.context(tls, setting));
        }
        return client.build();
    }
}
