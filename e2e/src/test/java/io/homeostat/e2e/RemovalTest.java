package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.e2e.Bucket.Stored;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What is no longer wanted is stopped, with all its children, and nothing of it is left. */
final class RemovalTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @Test
    void aDeletedPluginIsStoppedAndNothingOfItIsLeft() throws IOException {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        homeostat
                .apply(Document.greeter("greeter", "1", bucket.signedUrl(archive)))
                .exits(0);
        long pid = homeostat.pid("plugin/greeter");

        homeostat.run("delete", "plugin/greeter").exits(0).says("plugin/greeter  removed 1");

        assertFalse(Processes.isAlive(pid));
        List<String> left = Trees.listing(homeostat.instance()).keySet().stream()
                .filter(file -> file.contains("greeter"))
                .toList();
        assertEquals(List.of(), left);
        assertFalse(Files.exists(homeostat.runDir().resolve("plugin-connections/greeter_1.sock")));
        assertEquals(
                List.of("CONFIG_INSTALL 1", "STARTED 1", "INSTALLED 1", "CONFIG_REMOVE 1", "STOPPED 1", "REMOVED 1"),
                homeostat.events("plugin/greeter"));
        homeostat.run("status").exits(0).says("nothing is declared");
    }

    @Test
    void aPluginThatIgnoresStopIsKilled() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        homeostat
                .apply(Document.greeter("greeter", "1", bucket.signedUrl(archive))
                        .arguments("--fault=ignore-stop")
                        .with("stop.timeout", "2s"))
                .exits(0);
        long pid = homeostat.pid("plugin/greeter");

        homeostat.run("delete", "plugin/greeter").exits(0).says("removed 1");

        assertFalse(Processes.isAlive(pid));
        assertEquals(List.of(), homeostat.processes("plugin/greeter"));
    }

    @Tag("nightly")
    @Test
    void childrenOfAProcessGoWithIt() {
        homeostat
                .apply(Document.script(
                                "family", "sleep 1000 & trap '' TERM; (setsid sleep 1001 &); while :; do wait; done")
                        .with("stop.timeout", "2s"))
                .exits(0);
        assertEquals(3, homeostat.processes("process/family").size());

        homeostat.run("delete", "process/family").exits(0);

        assertEquals(List.of(), homeostat.processes("process/family"));
    }

    @Test
    void pruneRemovesWhatTheSamePathDeclaredBefore() {
        Document one = sleeper("one");
        Document two = sleeper("two");
        Document other = sleeper("other");
        homeostat.file("d/a.yaml", one);
        homeostat.file("d/b.yaml", two);
        homeostat.applied(homeostat.file("e.yaml", other));
        Path directory = homeostat.directory().resolve("d");
        homeostat.applied(directory);
        long kept = homeostat.pid("process/one");
        homeostat.file("d/b.yaml", "# nothing any more\n");

        homeostat.apply(directory).exits(0).says("3 unchanged");
        homeostat
                .run("plan", "-f", directory.toString(), "--prune")
                .exits(0)
                .says("- process/two")
                .says("1 to remove, 2 unchanged");
        homeostat.apply(directory, "--prune").exits(0).says("process/two    removed");

        assertEquals(kept, homeostat.pid("process/one"));
        assertTrue(homeostat.pid("process/other") > 0);
        assertEquals(List.of(), homeostat.processes("process/two"));
    }

    @Tag("nightly")
    @Test
    void deletingWhatIsNotThereChangesNothingAndNamesWhatIs() {
        homeostat.applied(sleeper("one"));

        homeostat.run("delete", "process/noe").exits(1).says("process/noe ").says("process/one");

        assertTrue(homeostat.pid("process/one") > 0);
    }

    @Test
    void theExitOfDeleteSpeaksOfWhatWasToBeDeleted() {
        homeostat.applied(sleeper("one"));
        homeostat.apply(Document.script("broken", "exit 3")).exits(1);

        homeostat
                .run("delete", "process/one")
                .exits(0)
                .says("process/one     removed")
                .says("process/broken: ");
        homeostat.run("delete", "-l", "team=nobody").exits(1).says("nothing was applied here with team=nobody");

        assertEquals(List.of(), homeostat.processes("process/one"));
    }

    @Tag("nightly")
    @Test
    void whatIsNotThereKeepsNothingElseFromBeingDeleted() {
        homeostat.applied(sleeper("one"));

        homeostat
                .run("delete", "process/noe", "process/one")
                .exits(1)
                .says("process/noe ")
                .says("process/one  removed");

        assertEquals(List.of(), homeostat.processes("process/one"));
    }

    private static Document sleeper(String name) {
        return Document.script(name, "exec sleep 1000");
    }
}
