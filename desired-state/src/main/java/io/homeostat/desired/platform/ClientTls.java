package io.homeostat.desired.platform;

import io.homeostat.desired.model.AgentConfig.Tls;
import io.netty.handler.codec.http2.Http2SecurityUtil;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** The certificates of a connection as agent.yaml names them. Read each time, since they are replaced while agents run. */
public final class ClientTls {
    private ClientTls() {}

    /**
     * Returns a context for gRPC that goes by these certificates, as {@link #context} does.
     *
     * @param setting in agent.yaml that names them, for errors
     * @throws IOException as {@link #context} does
     */
    public static SslContext grpc(@Nullable Tls tls, String setting) throws IOException {
        return new JdkSslContext(
                context(tls, setting),
                true,
                Http2SecurityUtil.CIPHERS,
                SupportedCipherSuiteFilter.INSTANCE,
                new ApplicationProtocolConfig(
                        ApplicationProtocolConfig.Protocol.ALPN,
                        ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
                        ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
                        ApplicationProtocolNames.HTTP_2),
                ClientAuth.NONE,
                null,
                false);
    }

    /**
     * Returns a context that goes by these certificates; by the system's authorities, and without a certificate of our own, when there are none. What a
     * server sends beside content is bounded.
     *
     * @param setting in agent.yaml that names them, for errors
     * @throws IOException if a file can't be used, or others can change whom root believes; the message names it and has nothing of a key
     */
    public static SSLContext context(@Nullable Tls tls, String setting) throws IOException {
        SslContextBuilder builder = SslContextBuilder.forClient().sslProvider(SslProvider.JDK);
        String ca = tls == null ? null : tls.ca();
        if (ca != null) {
            Optional<TrustedPath.Objection> objection = TrustedPath.objectionOfRoot(Path.of(ca));
            if (objection.isPresent()) {
                throw new IOException("could not use the authorities in " + ca + " (" + setting + ".ca): "
                        + objection.get().ofConfiguration());
            }
            try {
                builder.trustManager(readable(ca, setting).toFile());
            } catch (IllegalArgumentException e) {
                throw new IOException("could not use the authorities in " + ca + " (" + setting + ".ca): "
                        + e.getMessage() + "; it has to hold certificates in PEM");
            }
        }
        String certificate = tls == null ? null : tls.certificate();
        String key = tls == null ? null : tls.key();
        if (certificate != null && key != null) {
            try (InputStream chain = Files.newInputStream(readable(certificate, setting));
                    InputStream pkcs8 = KeyPem.pkcs8(readable(key, setting))) {
                builder.keyManager(chain, pkcs8);
            } catch (IllegalArgumentException e) {
                throw new IOException("could not use the certificate " + certificate + " with the key " + key + " ("
                        + setting + "): they have to belong together, in PEM, the key without a"
                        + " password (openssl pkcs8 -topk8 -nocrypt makes it so)");
            }
        }
        return BoundedTls.of(((JdkSslContext) builder.build()).context());
    }

    private static Path readable(String file, String setting) throws IOException {
        Path path = Path.of(file);
        if (!Files.isReadable(path)) {
            throw new IOException("could not read " + file + " (" + setting + "); it has to be there and"
                    + " readable for the agent");
        }
        return path;
    }
}
