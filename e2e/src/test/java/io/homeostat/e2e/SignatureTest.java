package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Signed archives, signed with the commands that docs/roll-out-and-roll-back.md names. */
final class SignatureTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @TempDir
    Path vault;

    @BeforeEach
    void needOpenssl() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/openssl")), "openssl signs the archives of this test");
        openssl("genpkey", "-algorithm", "ed25519", "-out", "release.key");
        openssl("pkey", "-in", "release.key", "-pubout", "-out", "release.pub");
    }

    @Test
    void onlyWhatIsSignedIsInstalledAndWhatRanBeforeRunsOn() throws Exception {
        String good = signature(archive("1", "exec sleep 1000"));
        Path second = archive("2", "exec sleep 2000");
        homeostat.declare("web.yaml", web("1").with("source.signature", good));
        homeostat.agent(AgentConfig.of(homeostat.desired())
                .with(
                        "signatures",
                        Map.of(
                                "require",
                                true,
                                "keys",
                                List.of(vault.resolve("release.pub").toString()))));
        homeostat.awaitRunning("process/web");
        long pid = homeostat.pid("process/web");

        homeostat.declare("web.yaml", web("2"));
        eventually().until(() -> homeostat.events("process/web").contains("INSTALL_FAILED 2"));
        assertEquals("wait SIGNATURE_MISSING", homeostat.planned("process/web"));
        assertEquals(pid, homeostat.pid("process/web"));

        homeostat.declare("web.yaml", web("2").with("source.signature", good));
        eventually().until(() -> homeostat.run("status").out().contains("SHA-256"));
        assertEquals(pid, homeostat.pid("process/web"));

        homeostat.declare("web.yaml", web("2").with("source.signature", signature(second)));
        eventually().until(() -> homeostat.state("process/web").equals("RUNNING 2"));
    }

    @Tag("nightly")
    @Test
    void keysThatCanNotBeReadEndTheAgentBeforeItBegins() {
        Agent agent = homeostat.startAgent(AgentConfig.of(homeostat.desired())
                .with("signatures", Map.of("require", true, "keys", List.of("/nowhere/release.pub"))));

        Result end = agent.await();

        assertTrue(end.exits(1).err().contains("/nowhere/release.pub: "), end::toString);
    }

    private Document web(String revision) {
        return Document.process("web")
                .with("revision", revision)
                .with("entryPoint", "bin/run")
                .with("source.url", vault.resolve(revision + ".tar.gz").toString());
    }

    private Path archive(String revision, String script) throws IOException {
        return Files.write(vault.resolve(revision + ".tar.gz"), TarGz.ofScript(script));
    }

    /** As docs/roll-out-and-roll-back.md says. */
    private String signature(Path archive) throws Exception {
        openssl("dgst", "-sha256", "-binary", "-out", "digest", archive.toString());
        openssl("pkeyutl", "-sign", "-inkey", "release.key", "-rawin", "-in", "digest", "-out", "signature");
        return Base64.getEncoder().encodeToString(Files.readAllBytes(vault.resolve("signature")));
    }

    private void openssl(String... words) throws Exception {
        List<String> command = new ArrayList<>(List.of("/usr/bin/openssl"));
        command.addAll(List.of(words));
        Process process = new ProcessBuilder(command)
                .directory(vault.toFile())
                .redirectErrorStream(true)
                .redirectOutput(vault.resolve("openssl.log").toFile())
                .start();
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, process.exitValue(), () -> read(vault.resolve("openssl.log")));
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return e.toString();
        }
    }
}
