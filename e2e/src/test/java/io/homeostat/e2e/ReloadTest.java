package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A running agent has programs read their files again as soon as these change, and restarts none for it. */
final class ReloadTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Test
    void aProcessGetsItsSignal() throws IOException {
        Path conf = homeostat.file("web.conf", "one");
        Path read = homeostat.directory().resolve("read");
        homeostat.declare(
                "web.yaml",
                Document.script("web", "trap 'cat " + conf + " > " + read + "' HUP; while :; do sleep 0.1; done")
                        .with("reload", Map.of("signal", "SIGHUP", "watch", new String[] {conf.toString()})));
        homeostat.agent();
        homeostat.awaitRunning("process/web");
        long pid = homeostat.pid("process/web");

        homeostat.file("web.conf", "two");

        eventually().until(() -> Files.exists(read) && Files.readString(read).equals("two"));
        eventually().until(() -> homeostat.events("process/web").contains("AGENT_RELOADED local"));
        assertEquals(pid, homeostat.pid("process/web"));
        // Who reads the file between its emptying and its new content has it read once more.
        homeostat.awaitRunning("process/web");
    }

    @Test
    void aPluginHasItsCommandRun() throws IOException {
        Path conf = homeostat.file("greeter.conf", "one");
        Path read = homeostat.directory().resolve("read");
        homeostat.declare(
                "greeter.yaml",
                Document.greeter(
                                "greeter",
                                "1",
                                SampleProgram.GREETER.light().toUri().toString())
                        .with("reload.exec.command", new String[] {"cp", conf.toString(), read.toString()})
                        .with("reload.watch", new String[] {conf.toString()}));
        homeostat.agent();
        homeostat.awaitRunning("plugin/greeter");
        long pid = homeostat.pid("plugin/greeter");

        homeostat.file("greeter.conf", "two");

        eventually().until(() -> Files.exists(read) && Files.readString(read).equals("two"));
        eventually().until(() -> homeostat.events("plugin/greeter").contains("AGENT_RELOADED 1"));
        assertEquals(pid, homeostat.pid("plugin/greeter"));
        assertEquals(0, homeostat.status("plugin/greeter").get("restarts").asInt());
    }
}
