package io.homeostat.controlplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.ManagedChannel;
import io.grpc.Status;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TlsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final TestAuthority authority = new TestAuthority("authority");

    @Test
    void agentsThatKnowTheAuthorityGetThrough() throws Exception {
        try (FakeControlPlane plane = FakeControlPlane.overTls(authority.issue("server"))) {
            try (FakeAgent agent = agent(FakeAgent.tlsChannel(plane, authority, null))) {
                agent.register();
                plane.awaitConnection(PATIENCE);
            }
            refused(FakeAgent.tlsChannel(plane, new TestAuthority("authority"), null));
        }
    }

    @Test
    void anExpiredCertificateIsRefused() throws Exception {
        Instant justNow = Instant.now().minusSeconds(60);
        try (FakeControlPlane plane = FakeControlPlane.overTls(authority.issue("server", justNow))) {
            refused(FakeAgent.tlsChannel(plane, authority, null));
        }
    }

    @Test
    void aControlPlaneThatWantsCertificatesTakesNobodyWithout() throws Exception {
        TestAuthority clients = new TestAuthority("clients");
        try (FakeControlPlane plane = FakeControlPlane.overMutualTls(authority.issue("server"), clients)) {
            refused(FakeAgent.tlsChannel(plane, authority, null));
            refused(FakeAgent.tlsChannel(plane, authority, authority.issue("client")));
            try (FakeAgent agent = agent(FakeAgent.tlsChannel(plane, authority, clients.issue("client")))) {
                agent.register();
                plane.awaitConnection(PATIENCE);
            }
        }
    }

    @Test
    void itComesBackAtTheSamePort() throws Exception {
        try (FakeControlPlane plane = FakeControlPlane.overTls(authority.issue("server"))) {
            String endpoint = plane.endpoint();
            plane.goAway();
            plane.comeBack();
            assertEquals(endpoint, plane.endpoint());
            try (FakeAgent agent = agent(FakeAgent.tlsChannel(plane, authority, null))) {
                agent.register();
                plane.awaitConnection(PATIENCE);
            }
        }
    }

    @Test
    void filesHoldWhatWasIssued(@TempDir Path directory) throws Exception {
        TestAuthority.Issued issued = authority.issue("server");
        Path certificate = issued.writeCertificate(directory.resolve("cert.pem"));
        try (InputStream in = Files.newInputStream(certificate)) {
            assertEquals(
                    issued.certificate(),
                    CertificateFactory.getInstance("X.509").generateCertificate(in));
        }
        String pem = Files.readString(issued.writeKey(directory.resolve("key.pem")));
        assertTrue(pem.startsWith("-----BEGIN PRIVATE KEY-----\n"), pem);
        byte[] encoded = Base64.getMimeDecoder().decode(pem.replaceAll("-----.*-----", ""));
        PrivateKey key = KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(encoded));
        assertEquals(issued.key(), key);
    }

    private static FakeAgent agent(ManagedChannel channel) {
        return new FakeAgent(channel, FakeAgent.RESOURCE, "");
    }

    private static void refused(ManagedChannel channel) throws Exception {
        try (FakeAgent agent = agent(channel)) {
            assertEquals(
                    Status.Code.UNAVAILABLE,
                    agent.ended().get(30, TimeUnit.SECONDS).getCode());
        }
    }
}
