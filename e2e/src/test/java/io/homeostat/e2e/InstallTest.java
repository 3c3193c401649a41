package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.e2e.Bucket.Stored;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The main job: a declared plugin comes to run, stays as declared, and follows its declaration. */
final class InstallTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @Test
    void aPluginFromASignedUrlRuns() throws IOException {
        Stored archive = bucket.put("greeter.tar.gz", Files.readAllBytes(SampleProgram.GREETER.archive()));
        homeostat.keepsSecret(archive.signature());

        Path file = homeostat.file("greeter.yaml", greeter(archive).config("evening"));
        Result applied = homeostat.runProcess("apply", "-f", file.toString());

        applied.exits(0).says("plugin/greeter  installed 1").says("1 installed");
        JsonNode status = homeostat.status("plugin/greeter");
        assertEquals("RUNNING", status.get("state").asText());
        assertEquals("greeting: evening", status.at("/health/results/0").asText());
        assertEquals("True", Homeostat.condition(status, "Converged"));
        assertEquals("True", Homeostat.condition(status, "Healthy"));
        homeostat.runProcess("status").exits(0);
        assertEquals(1, bucket.requests(archive));
        assertEquals(List.of("CONFIG_INSTALL 1", "STARTED 1", "INSTALLED 1"), homeostat.events("plugin/greeter"));
    }

    @Tag("nightly")
    @Test
    void theInstallationLiesWherePluginsExpectIt() throws IOException {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());

        homeostat.apply(greeter(archive)).exits(0);

        Path plugins = homeostat.installs("plugins");
        assertEquals(
                plugins.resolve("greeter_1").toRealPath(),
                plugins.resolve("greeter").toRealPath());
        assertTrue(Files.isSymbolicLink(plugins.resolve("greeter")));
        assertTrue(Files.isExecutable(plugins.resolve("greeter_1/bin/greeter")));
        assertTrue(Files.exists(homeostat.runDir().resolve("plugin-connections/greeter_1.sock")));
        assertTrue(Files.exists(homeostat.instance().resolve("agent_state/plugins/greeter/started")));
        homeostat
                .run("logs", "plugin/greeter")
                .exits(0)
                .says("listening on unix")
                .says("Start");
    }

    @Test
    void aSecondApplyDoesNothing() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        Document greeter = greeter(archive);
        Document script = Document.script("sleeper", "exec sleep 1000");
        homeostat.applied(greeter, script);
        long plugin = homeostat.process("plugin/greeter");
        long process = homeostat.process("process/sleeper");
        List<JsonNode> events = homeostat.events();

        homeostat.apply(greeter, script).exits(0).says("2 unchanged");

        assertEquals(plugin, homeostat.process("plugin/greeter"));
        assertEquals(process, homeostat.process("process/sleeper"));
        assertEquals(events, homeostat.events());
        assertEquals(1, bucket.requests());
        JsonNode status = homeostat.status("plugin/greeter");
        assertEquals(1, status.get("generation").asInt());
        assertEquals(plugin, status.get("pid").asLong());
    }

    @Tag("nightly")
    @Test
    void theSameArchiveIsFetchedOnceForTwoPlugins() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        Document one = greeter("one", archive).with("source.sha256", archive.sha256());
        homeostat.applied(one);

        homeostat
                .apply(one, greeter("two", archive).with("source.sha256", archive.sha256()))
                .exits(0);

        assertEquals(1, bucket.requests(archive));
        assertNotEquals(homeostat.process("plugin/one"), homeostat.process("plugin/two"));
    }

    @Tag("nightly")
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aFreshSignatureForTheSameArchiveIsTakenInPlace(boolean verified) {
        Stored archive = bucket.put("greeter.tar.gz", TarGz.ofScript("exec sleep 1000"));
        Document before = script("a", "1", bucket.signedUrl(archive));
        Stored again = bucket.put("greeter.tar.gz", archive.content());
        Document after = script("a", "1", bucket.signedUrl(again));
        if (verified) {
            before = before.with("source.sha256", archive.sha256());
            after = after.with("source.sha256", archive.sha256());
        }
        homeostat.applied(before);
        long pid = homeostat.process("process/a");

        Path file = homeostat.file("after.yaml", after);
        homeostat
                .run("plan", "-f", file.toString(), "--detailed-exitcode")
                .exits(2)
                .says("(masked, another value)");
        homeostat.apply(file).exits(0).says("process/a  updated (spec.source.url changed)");
        homeostat
                .run("plan", "-f", file.toString(), "--detailed-exitcode")
                .exits(0)
                .says("1 unchanged");

        assertEquals(pid, homeostat.process("process/a"));
        assertEquals(1, bucket.requests());
    }

    @Test
    void changedArgumentsRestartThePlugin() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        Document greeter = greeter(archive);
        homeostat.applied(greeter);
        long before = homeostat.process("plugin/greeter");

        Path changed = homeostat.file("changed.yaml", greeter.arguments("--loud"));
        homeostat
                .run("plan", "-f", changed.toString())
                .exits(0)
                .says("~ plugin/greeter")
                .says("(arguments changed)");
        homeostat.apply(changed).exits(0).says("restarted (arguments changed)");

        long after = homeostat.process("plugin/greeter");
        assertNotEquals(before, after);
        assertFalse(Processes.isAlive(before));
        assertTrue(Processes.command(after).contains(" --loud "), () -> Processes.command(after));
        assertEquals(1, bucket.requests(archive));
    }

    @Test
    void aChangedConfigurationIsAppliedToTheRunningProcess() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        Document greeter = greeter(archive);
        homeostat.applied(greeter.config("one"));
        long before = homeostat.process("plugin/greeter");

        homeostat.apply(greeter.config("two")).exits(0).says("configured");

        JsonNode status = homeostat.status("plugin/greeter");
        assertEquals(before, status.get("pid").asLong());
        assertEquals("greeting: two", status.at("/health/results/0").asText());
        assertEquals(
                Hashes.sha256("two".getBytes(StandardCharsets.UTF_8)),
                status.get("configHash").asText());
        assertEquals(List.of("CONFIG_APPLY 1", "CONFIG_APPLIED 1"), last(2, homeostat.events("plugin/greeter")));
    }

    @Tag("nightly")
    @Test
    void aPluginThatDoesNotImplementApplyIsRestartedWithItsNewConfiguration() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        Document greeter = greeter(archive).arguments("--fault=apply-unimplemented");
        homeostat.applied(greeter.config("one"));
        long before = homeostat.process("plugin/greeter");

        homeostat.apply(greeter.config("two")).exits(0);

        assertNotEquals(before, homeostat.process("plugin/greeter"));
        assertEquals(
                "greeting: two",
                homeostat.status("plugin/greeter").at("/health/results/0").asText());
        assertEquals(
                List.of("CONFIG_APPLY 1", "STOPPED 1", "STARTED 1", "CONFIG_APPLIED 1"),
                last(4, homeostat.events("plugin/greeter")));
    }

    @Test
    void aRefusedConfigurationIsReportedAndThePluginStaysAsItIs() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        Document greeter = greeter(archive).arguments("--fault=apply-error");
        homeostat.applied(greeter.config("one"));
        long before = homeostat.process("plugin/greeter");
        String hash = homeostat.status("plugin/greeter").get("configHash").asText();

        homeostat.apply(greeter.config("two")).exits(1).says("told to refuse Apply");

        JsonNode status = homeostat.status("plugin/greeter");
        assertEquals(before, status.get("pid").asLong());
        assertEquals(
                hash, status.get("configHash").asText(), "the hash tells what the plugin has, not what it was sent");
        assertEquals("False", Homeostat.condition(status, "Converged"));
        assertEquals(List.of("CONFIG_APPLY 1", "CONFIG_APPLY_FAILED 1"), last(2, homeostat.events("plugin/greeter")));
        homeostat.run("status").exits(1);
    }

    @Test
    void anUpgradeStopsTheOldRevisionAndLeavesNothingOfIt() throws IOException {
        Stored first = bucket.put("1.tar.gz", Bucket.greeter());
        Stored second = bucket.put("2.tar.gz", TarGz.repacked(Bucket.greeter(), 2));
        homeostat.applied(greeter(first));
        long before = homeostat.process("plugin/greeter");

        homeostat
                .apply(greeter(second).with("revision", "2").with("keepRevisions", 1))
                .exits(0)
                .says("upgraded 1 -> 2");

        assertFalse(Processes.isAlive(before));
        assertEquals("RUNNING 2", homeostat.state("plugin/greeter"));
        assertEquals(1, homeostat.processes("plugin/greeter").size());
        Path plugins = homeostat.installs("plugins");
        assertEquals(
                plugins.resolve("greeter_2").toRealPath(),
                plugins.resolve("greeter").toRealPath());
        assertFalse(Files.exists(plugins.resolve("greeter_1")));
        assertEquals(
                List.of("CONFIG_INSTALL 2", "CONFIG_REMOVE 1", "STOPPED 1", "REMOVED 1", "STARTED 2", "INSTALLED 2"),
                last(6, homeostat.events("plugin/greeter")));
    }

    @Tag("nightly")
    @Test
    void namesAndRevisionsThatReadAlikeLiveSideBySide() {
        Stored archive = bucket.put("run.tar.gz", TarGz.ofScript("exec sleep 1000"));
        String url = bucket.signedUrl(archive);
        Document one = script("a_b", "c", url);
        Document two = script("a", "b_c", url);

        homeostat.applied(one, two);
        homeostat.apply(one, two).exits(0).says("2 unchanged");

        assertEquals("RUNNING c", homeostat.state("process/a_b"));
        assertEquals("RUNNING b_c", homeostat.state("process/a"));
        homeostat.run("delete", "process/a").exits(0);
        assertEquals("RUNNING c", homeostat.state("process/a_b"));
    }

    private static Document script(String name, String revision, String url) {
        return Document.process(name)
                .with("revision", revision)
                .with("source.url", url)
                .with("entryPoint", "bin/run");
    }

    private Document greeter(Stored archive) {
        return greeter("greeter", archive);
    }

    private Document greeter(String name, Stored archive) {
        return Document.greeter(name, "1", bucket.signedUrl(archive)).with("source.sha256", archive.sha256());
    }

    private static <T> List<T> last(int count, List<T> list) {
        return list.subList(Math.max(0, list.size() - count), list.size());
    }
}
