package io.homeostat.desired.channel;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.controlplane.FakeControlPlane;
import io.homeostat.controlplane.TestAuthority;
import io.homeostat.desired.model.AgentConfig.Tls;
import io.homeostat.desired.platform.KeyPemTest;
import io.homeostat.desired.platform.TrustedPath;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.interfaces.ECPrivateKey;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Connections with HOST:PORT are secured, both ways when certificates are configured. */
class TlsEndpointTest {
    private final TestAuthority authority = new TestAuthority("authority");

    @TempDir
    private Path directory;

    @Test
    void aControlPlaneOfOurAuthorityIsBelieved() throws Exception {
        try (ChannelBench bench = new ChannelBench(FakeControlPlane.overTls(authority.issue("server")))) {
            bench.tls = new Tls(ca(authority), null, null);
            bench.open(localhost(bench));
            bench.controlPlane.awaitConnection(ChannelBench.PATIENCE);
        }
    }

    @Test
    void anyOtherIsNot() throws Exception {
        try (ChannelBench bench = new ChannelBench(FakeControlPlane.overTls(authority.issue("server")))) {
            bench.tls = new Tls(ca(new TestAuthority("stranger")), null, null);
            bench.open(localhost(bench));
            assertError(bench, "certification path");
            assertTrue(bench.controlPlane.transcript().entries().isEmpty());
        }
    }

    @Test
    void withoutAnAuthorityOfOursThoseOfTheSystemCount() throws Exception {
        try (ChannelBench bench = new ChannelBench(FakeControlPlane.overTls(authority.issue("server")))) {
            bench.open(localhost(bench));
            assertError(bench, "certification path");
        }
    }

    @Test
    void theCertificateIsReadAnewForEachConnection() throws Exception {
        TestAuthority clients = new TestAuthority("clients");
        Path certificate = authority.issue("wrong").writeCertificate(directory.resolve("cert.pem"));
        Path key = authority.issue("wrong").writeKey(directory.resolve("key.pem"));
        try (ChannelBench bench =
                new ChannelBench(FakeControlPlane.overMutualTls(authority.issue("server"), clients))) {
            bench.tls = new Tls(ca(authority), certificate.toString(), key.toString());
            bench.open(localhost(bench));
            await().atMost(ChannelBench.PATIENCE)
                    .until(() -> !bench.channel().status().lastError().isEmpty());

            TestAuthority.Issued issued = clients.issue("client");
            issued.writeCertificate(certificate);
            issued.writeKey(key);
            bench.controlPlane.awaitConnection(ChannelBench.PATIENCE);
        }
    }

    @Test
    void aKeyInTheFormThatOpensslAndGoWriteIsTakenToo() throws Exception {
        TestAuthority clients = new TestAuthority("clients");
        TestAuthority.Issued issued = clients.issue("client");
        Path certificate = issued.writeCertificate(directory.resolve("cert.pem"));
        Path key = Files.writeString(directory.resolve("key.pem"), KeyPemTest.sec1((ECPrivateKey) issued.key()));
        try (ChannelBench bench =
                new ChannelBench(FakeControlPlane.overMutualTls(authority.issue("server"), clients))) {
            bench.tls = new Tls(ca(authority), certificate.toString(), key.toString());
            bench.open(localhost(bench));
            bench.controlPlane.awaitConnection(ChannelBench.PATIENCE);
        }
    }

    @Test
    void filesThatCannotBeUsedAreNamed() throws Exception {
        Path garbage = Files.writeString(directory.resolve("garbage.pem"), "garbage");
        String missing = directory.resolve("missing.pem").toString();
        assertFileError(new Tls(missing, null, null), "could not read " + missing);
        assertFileError(new Tls(garbage.toString(), null, null), "could not use the authorities in " + garbage);
        assertFileError(new Tls(null, garbage.toString(), missing), "could not read " + missing);
        assertFileError(
                new Tls(null, garbage.toString(), garbage.toString()),
                "could not use the certificate " + garbage + " with the key " + garbage);
    }

    @Test
    void authoritiesThatOthersCanChangeAreNotTrustedByRoot() throws Exception {
        assumeTrue(TrustedPath.isRoot(), "an ordinary user has no objection");
        Path ca = authority.writeCertificate(directory.resolve("ca.pem"));
        Files.setPosixFilePermissions(ca, PosixFilePermissions.fromString("rw-rw-rw-"));

        assertFileError(
                new Tls(ca.toString(), null, null),
                "could not use the authorities in " + ca + " (sources.controlPlane.tls.ca): root goes by it");
    }

    @Test
    void whatIsNoEndpointIsSaid() throws Exception {
        for (String endpoint : new String[] {"localhost:99999", "::1:443"}) {
            try (ChannelBench bench = new ChannelBench(directory)) {
                bench.open(endpoint);
                assertError(bench, "the endpoint " + endpoint + " is neither unix:/PATH nor HOST:PORT");
            }
        }
    }

    private void assertFileError(Tls tls, String error) throws Exception {
        try (ChannelBench bench = new ChannelBench(FakeControlPlane.overTls(authority.issue("server")))) {
            bench.tls = tls;
            bench.open(localhost(bench));
            assertError(bench, error);
        }
    }

    private static void assertError(ChannelBench bench, String words) {
        await().atMost(ChannelBench.PATIENCE)
                .until(() -> bench.channel().status().lastError(), error -> error.contains(words));
    }

    private String ca(TestAuthority of) throws IOException {
        return of.writeCertificate(Files.createTempFile(directory, "ca", ".pem"))
                .toString();
    }

    /** Certificates are for names, so a name has to be asked for. */
    private static String localhost(ChannelBench bench) {
        String endpoint = bench.controlPlane.endpoint();
        return "localhost" + endpoint.substring(endpoint.lastIndexOf(':'));
    }
}
