package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.Key;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What {@code bundle} makes is installed, and only what its key has signed where that is required. */
final class BundleTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Test
    void aDirectoryIsBundledAppliedAndRuns() throws IOException {
        Path out = Files.createDirectories(homeostat.directory().resolve("out"));

        Result made = homeostat.run(
                "bundle", tree("exec sleep 1000").toString(), "--entry-point", "bin/run", "--to", out.toString());

        assertEquals(0, made.exit(), made::toString);
        homeostat.run("validate", "-f", out.resolve("web.yaml").toString()).exits(0);
        homeostat.run("apply", "-f", out.resolve("web.yaml").toString()).exits(0);
        assertTrue(homeostat.state("process/web").startsWith("RUNNING "), homeostat.state("process/web"));
    }

    @Test
    void aBundleOfAServerRunsWhereItsKeyIsTrustedAndAnotherSignatureIsRefused() throws Exception {
        KeyPair pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
        Path key = homeostat.file("release.key", pem("PRIVATE KEY", pair.getPrivate()));
        Path trusted = homeostat.file("release.pub", pem("PUBLIC KEY", pair.getPublic()));
        Path out = Files.createDirectories(homeostat.directory().resolve("out"));
        String document = bundled(out, key, "exec sleep 1000");
        homeostat.agent(AgentConfig.of(homeostat.desired())
                .with("signatures", Map.of("require", true, "keys", List.of(trusted.toString()))));

        declare(document);
        homeostat.awaitRunning("process/web");
        long pid = homeostat.pid("process/web");

        String next = bundled(out, key, "exec sleep 2000");
        String wrong = next.replaceAll("signature: .*", signature(document));
        assertNotEquals(next, wrong);
        declare(wrong);
        Patience.eventually().until(() -> homeostat.run("status").out().contains("SHA-256"));
        assertEquals(pid, homeostat.pid("process/web"));

        declare(next);
        // It has no process for a moment.
        Patience.eventually()
                .until(() -> homeostat.state("process/web").startsWith("RUNNING ")
                        && homeostat.processes("process/web").stream().noneMatch(process -> process.pid() == pid));
    }

    /** The document, whose archive is named by a whole URL. */
    private String bundled(Path out, Path key, String script) throws IOException {
        homeostat
                .run(
                        "bundle",
                        tree(script).toString(),
                        "--entry-point",
                        "bin/run",
                        "--url-prefix",
                        out.toUri().toString(),
                        "--key",
                        key.toString(),
                        "--to",
                        out.toString(),
                        "--force")
                .exits(0);
        return Files.readString(out.resolve("web.yaml"));
    }

    private static String signature(String document) {
        return document.lines()
                .map(String::strip)
                .filter(line -> line.startsWith("signature: "))
                .findFirst()
                .orElseThrow();
    }

    private void declare(String document) throws IOException {
        Path whole = homeostat.file("whole.yaml", document);
        Files.move(whole, homeostat.desired().resolve("web.yaml"), StandardCopyOption.REPLACE_EXISTING);
    }

    private Path tree(String script) throws IOException {
        Path run = homeostat.file("web/bin/run", "#!/bin/sh\n" + script + "\n");
        Files.setPosixFilePermissions(run, PosixFilePermissions.fromString("rwxr-xr-x"));
        return homeostat.directory().resolve("web");
    }

    private static String pem(String title, Key key) {
        String base64 = Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII))
                .encodeToString(key.getEncoded());
        return "-----BEGIN " + title + "-----\n" + base64 + "\n-----END " + title + "-----\n";
    }
}
