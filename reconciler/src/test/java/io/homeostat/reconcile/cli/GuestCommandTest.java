package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GuestCommandTest {
    @TempDir
    private Path directory;

    @ParameterizedTest
    @CsvSource({
        "hvsock:///run/vm.sock:1024, in the guest write vsock://-1:1024",
        "vsock://-1:port, 'port' in 'vsock://-1:port' is no port",
        "/run/agent.sock, is no endpoint of a guest",
        "unix://run/agent.sock, has no absolute path"
    })
    void whereItCanNotListenIsSaid(String endpoint, String words) {
        Result typed = new Shell(directory).run("guest", "--listen", endpoint);
        Result configured = new Shell(directory)
                .with(Map.of("KATA_AGENT_SERVER_ADDR", endpoint))
                .run("guest");

        assertEquals(64, typed.status(), typed::err);
        assertTrue(typed.err().contains("--listen: ") && typed.err().contains(words), typed::err);
        assertEquals(64, configured.status(), configured::err);
        assertTrue(
                configured.err().contains("KATA_AGENT_SERVER_ADDR: ")
                        && configured.err().contains(words),
                configured::err);
    }

    @Test
    void onlyRootRunsContainers() throws IOException {
        Path others = Files.createDirectory(directory.resolve("others"));
        if (new Shell(directory).uid() == 0) {
            Files.setAttribute(others, "unix:uid", 65534);
        }

        Result result = new Shell(others).run("guest");

        assertEquals(1, result.status(), result::err);
        assertTrue(result.err().contains("only root runs containers"), result::err);
    }

    @Test
    void withoutARuntimeItSaysWhatToInstall() {
        Shell shell = new Shell(directory);
        assumeTrue(shell.uid() == 0, "only root gets that far");

        Result result = shell.run("guest", "--runtime", "no-such-runtime");

        assertEquals(1, result.status(), result::err);
        assertTrue(result.err().contains("there is no OCI runtime 'no-such-runtime'"), result::err);
        assertTrue(result.err().contains("install runc"), result::err);
    }

    @Test
    void aProgramThatIsNoRuntimeIsNotTakenForOne() {
        Shell shell = new Shell(directory);
        assumeTrue(shell.uid() == 0, "only root gets that far");

        Result result = shell.run("guest", "--runtime", "/bin/false");

        assertEquals(1, result.status(), result::err);
        assertTrue(result.err().contains("/bin/false is no runtime"), result::err);
    }
}
