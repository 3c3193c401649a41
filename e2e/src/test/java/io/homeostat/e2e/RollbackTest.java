package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.e2e.Bucket.Stored;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Former revisions are remembered and kept, and somebody can go back to them. */
final class RollbackTest {
    private static final String WEB = "process/web";

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @Test
    void theRevisionBeforeComesBackWithoutADownloadUntilSomebodyTakesThatBack() {
        Stored first = stored(1);
        Stored second = stored(2);
        homeostat.keepsSecret(first.signature());
        homeostat.keepsSecret(second.signature());
        homeostat.applied(web("1", first));
        homeostat.applied(web("2", second));
        // What runs does not depend on it, and the former revision is still here.
        bucket.expire(first);

        homeostat.run("rollback", WEB).exits(0).says("rolled back 2 -> 1");

        assertEquals("RUNNING 1", homeostat.state(WEB));
        long pid = homeostat.pid(WEB);
        JsonNode status = homeostat.status(WEB);
        assertEquals("2", status.get("pendingRevision").asText());
        assertEquals("True", Homeostat.condition(status, "RolledBack"));
        assertTrue(status.get("pendingError").asText().contains(" 2 to 1"), status::toString);
        homeostat
                .run("plan")
                .exits(0)
                .says("homeostat apply or resume takes that back")
                .says("1 waiting");
        assertTrue(homeostat.events(WEB).contains("AGENT_ROLLED_BACK 2"));

        homeostat
                .run("rollback", WEB)
                .exits(1)
                .says(" 2 to 1 (number 1)")
                .says("homeostat resume process/web takes the rollback back");

        // An agent leaves it so, too.
        Agent agent = homeostat.agent();
        agent.awaitReady();
        assertEquals(pid, homeostat.pid(WEB));
        homeostat
                .run("history", WEB)
                .exits(0)
                .says("1       1         applied")
                .says("current")
                .says("rolled back  ")
                .says(" 2 to 1 (number 1)");
        homeostat.run("describe", WEB).exits(0).says(" 2 to 1");

        homeostat.run("resume", WEB).exits(0);

        eventually().until(() -> homeostat.state(WEB), "RUNNING 2"::equals);
        assertNotEquals(pid, homeostat.pid(WEB));
    }

    @Test
    void anyGoodRevisionCanBeChosenThroughAnAgentAndAnotherDeclarationEndsIt() {
        homeostat.agent();
        for (int revision = 1; revision <= 3; revision++) {
            homeostat.declare("web.yaml", web(Integer.toString(revision), stored(revision)));
            String running = "RUNNING " + revision;
            homeostat.awaitRunning(WEB);
            eventually().until(() -> homeostat.state(WEB), running::equals);
            homeostat.awaitRunning(WEB);
        }

        homeostat
                .run("rollback", WEB, "--to", "9")
                .exits(1)
                .says(
                        "process/web has no revision 9, and none with that number; homeostat history process/web shows them");
        homeostat.run("rollback", WEB, "--to", "3").exits(1).says("number 3 (3) is what is declared now");
        homeostat.run("rollback", WEB, "--to", "1").exits(0).says("rolled back 3 -> 1");

        assertEquals("RUNNING 1", homeostat.state(WEB));
        homeostat.declare("web.yaml", web("4", stored(4)));
        eventually().until(() -> homeostat.state(WEB), "RUNNING 4"::equals);
        assertEquals(
                List.of("SUPERSEDED", "SUPERSEDED", "ROLLED_BACK", "SUPERSEDED", "CURRENT"),
                eventually().until(this::standings, all -> all.getLast().equals("CURRENT")));
        homeostat.run("history", WEB).exits(0).says("superseded   back to number 1");
    }

    @Test
    void aRevisionIsChosenByItsNameOrByItsNumberAndNeverByGuess() {
        homeostat.applied(web("2026.10", stored(1)));
        homeostat.applied(web("1", stored(2)));
        homeostat.applied(web("2026.12", stored(3)));

        homeostat.run("rollback", WEB, "--to", "2026.10").exits(0).says("rolled back 2026.12 -> 2026.10");
        assertEquals("RUNNING 2026.10", homeostat.state(WEB));
        homeostat
                .run("rollback", WEB, "--to", "1")
                .exits(1)
                .says("process/web: 1 is a revision (number 2 in the history) and the number of another one (2026.10)")
                .says("write --to number:2 or --to number:1");
        assertEquals("RUNNING 2026.10", homeostat.state(WEB));
        homeostat.run("rollback", WEB, "--to", "number:2").exits(0).says("rolled back 2026.10 -> 1");
        assertEquals("RUNNING 1", homeostat.state(WEB));
        homeostat.run("rollback", WEB, "--to", "2026.11").exits(1).says("process/web has no revision 2026.11");
        homeostat.run("rollback", WEB, "--to", "2026.12").exits(1).says("(2026.12)");
    }

    @Tag("nightly")
    @Test
    void ofSeveralThatAreChosenEachGoesBackAndWhatCanNotIsTold() {
        Document other = Document.script("other", "exec sleep 1000").label("team", "sre");
        homeostat.applied(web("1", stored(1)).label("team", "sre"), other.with("revision", "1"));
        homeostat.applied(
                web("2", stored(2)).label("team", "sre"),
                other.with("revision", "2"),
                Document.script("new", "exec sleep 1000"));

        homeostat
                .run("rollback", "-l", "team=sre")
                .exits(0)
                .says("process/web    rolled back 2 -> 1")
                .says("process/other  rolled back 2 -> 1");
        assertEquals("RUNNING 1", homeostat.state(WEB));
        assertEquals("RUNNING 1", homeostat.state("process/other"));
        homeostat.run("resume", "--all").exits(0);
        homeostat.run("start", "--all").exits(0);
        assertEquals("RUNNING 2", homeostat.state(WEB));

        homeostat
                .run("rollback", WEB, "process/new", "process/no")
                .exits(1)
                .says("rolled back 2 -> 1")
                .says("process/new")
                .says("process/no ");
        assertEquals("RUNNING 1", homeostat.state(WEB));
        assertEquals("RUNNING 2", homeostat.state("process/other"));
        homeostat.run("rollback", "-l", "team=nobody").exits(1).says("team=nobody");
        homeostat.run("rollback").exits(64).says("(KIND/NAME)");
    }

    @Tag("nightly")
    @Test
    void whatItDependsOnIsNotRolledBackWithItAndNoMoreOfAGroupAreDownThanAllowed() {
        Document database = Document.script("db", "exec sleep 1000");
        List<Document> first = new ArrayList<>(List.of(database));
        List<Document> second = new ArrayList<>(List.of(database));
        for (String name : List.of("a", "b", "c")) {
            Document member = Document.script(name, "trap 'sleep 1; exit 0' TERM; sleep 1000 & wait")
                    .label("team", "sre")
                    .with("dependsOn", new String[] {"process/db"})
                    .with("maxDisruption", Map.of("label", "team", "count", 1));
            first.add(member.with("revision", "1"));
            second.add(member.with("revision", "2"));
        }
        homeostat.applied(first.toArray(Document[]::new));
        homeostat.applied(second.toArray(Document[]::new));
        int before = homeostat.events().size();

        homeostat
                .run("rollback", "-l", "team=sre")
                .exits(0)
                .says("rolled back 2 -> 1")
                .doesNotSay("process/db");

        int down = 0;
        for (JsonNode event :
                homeostat.events().subList(before, homeostat.events().size())) {
            String type = event.get("type").asText();
            down += type.equals("PLUGIN_STOPPED") ? 1 : type.equals("PLUGIN_STARTED") ? -1 : 0;
            assertTrue(down <= 1, () -> homeostat.events().toString());
        }
        homeostat.run("rollback", "process/a").exits(1).says(", and nothing is remembered that worked before that");
    }

    @Tag("nightly")
    @Test
    void whatWorkedBeforeComesBackWhileANewRevisionIsTriedInVain() {
        homeostat.applied(web("1", stored(1)));
        Document hanging =
                web("2", stored(2)).with("probe.tcp.address", "127.0.0.1:1").with("start.timeout", "1h");
        Command apply = homeostat.start(
                "apply",
                "--timeout",
                "1h",
                "-f",
                homeostat.file("2.yaml", hanging).toString());
        eventually().until(() -> homeostat.state(WEB), "STARTING 2"::equals);
        apply.kill();

        homeostat.run("rollback", WEB).exits(0);

        assertEquals("RUNNING 1", homeostat.state(WEB));
    }

    @Tag("nightly")
    @Test
    void whatWorksRunsOnUntilARevisionIsFetchedThatIsNotHereAnyMore() {
        for (int revision = 1; revision <= 3; revision++) {
            homeostat.applied(web(Integer.toString(revision), stored(revision)));
        }
        Document failing = web("4", stored(4))
                .with("probe.tcp.address", "127.0.0.1:1")
                .with("start.timeout", "1s")
                .with("start.attempts", 1);
        homeostat.apply(failing).exits(1);
        assertEquals("RUNNING 3", homeostat.state(WEB));
        assertEquals(
                List.of("web_2", "web_3"),
                installed().stream().filter(one -> !one.equals("web_4")).toList());
        int launches = homeostat.events(WEB).size();

        // What is declared is neither what runs nor what is wanted, and is not launched in between.
        homeostat.run("rollback", WEB, "--to", "1").exits(0).says("rolled back 3 -> 1");

        assertEquals("RUNNING 1", homeostat.state(WEB));
        List<String> since = homeostat.events(WEB);
        assertTrue(
                since.subList(launches, since.size()).stream().noneMatch(event -> event.contains("START_FAILED")),
                since::toString);
        assertEquals("AGENT_ROLLED_BACK 3", lastRollback(), "4 was undone before");
        homeostat.applied(web("5", stored(5)));
        homeostat.run("rollback", WEB).exits(0).says("rolled back 5 -> 1");
        homeostat.run("stop", WEB).exits(0);
        homeostat.run("rollback", WEB, "--to", "2").exits(0).doesNotSay("upgraded");
        assertEquals("RUNNING 2", homeostat.state(WEB));
    }

    @Tag("nightly")
    @Test
    void whatCanNotBeFetchedDoesNotStandInTheWayOfAnotherOneAndIsTriedAgainByTheSameCommand() throws IOException {
        Stored first = stored(1);
        Stored second = stored(2);
        homeostat.applied(web("1", first).with("keepRevisions", 1));
        homeostat.applied(web("2", second).with("keepRevisions", 1));
        homeostat.applied(web("3", stored(3)).with("keepRevisions", 1));
        Trees.delete(homeostat.stateDir().resolve("cache"));
        bucket.expire(second);

        homeostat
                .run("rollback", WEB)
                .exits(1)
                .says("no agent runs that would try again, homeostat start process/web does")
                .says("homeostat rollback process/web --to REVISION chooses another one")
                .says("homeostat resume process/web goes back to what is declared");
        assertEquals("RUNNING 3", homeostat.state(WEB));
        homeostat.run("rollback", WEB).exits(1).says("install 2");
        homeostat.run("start", WEB).exits(1);
        assertEquals("2", homeostat.status(WEB).get("pendingRevision").asText());
        assertEquals("none", lastRollback());
        assertEquals("False", Homeostat.condition(homeostat.status(WEB), "RolledBack"));

        homeostat.run("rollback", WEB, "--to", "1").exits(0).says("rolled back 3 -> 1");
        assertEquals("RUNNING 1", homeostat.state(WEB));
        assertEquals("AGENT_ROLLED_BACK 3", lastRollback());
        assertTrue(
                homeostat.events().stream()
                        .filter(event -> event.get("type").asText().equals("AGENT_ROLLED_BACK"))
                        .noneMatch(event -> event.get("message").asText().contains("\n")),
                "the end of a log explains nothing here");
        assertEquals("True", Homeostat.condition(homeostat.status(WEB), "RolledBack"));
    }

    private String lastRollback() {
        return homeostat.events(WEB).stream()
                .filter(event -> event.startsWith("AGENT_ROLLED_BACK"))
                .reduce((_, last) -> last)
                .orElse("none");
    }

    @Test
    void whatFailsInThePlaceOfAFailedRevisionIsGoneBackFrom() {
        homeostat.applied(breakable(1));
        homeostat.applied(breakable(2));
        breaks(2);
        breaks(3);
        homeostat.apply(breakable(3)).exits(1);
        assertEquals(List.of("SUPERSEDED", "SUPERSEDED", "FAILED", "PENDING"), standings());

        homeostat.run("rollback", WEB).exits(0);

        assertEquals("RUNNING 1", homeostat.state(WEB));
        homeostat
                .run("history", WEB)
                .exits(0)
                .says(" 2 to 1 (number 1); 2 had failed: ")
                .doesNotSay("3 had failed");
    }

    @Tag("nightly")
    @Test
    void whatWorkedInThePlaceOfAFailedRevisionAndFailsLaterIsGoneBackFrom() {
        homeostat.agent().awaitReady();
        homeostat.applied(breakable(1));
        homeostat.applied(breakable(2));
        breaks(3);
        homeostat.apply(breakable(3)).exits(1);
        eventually().until(() -> homeostat.state(WEB), "RUNNING 2"::equals);
        breaks(2);
        homeostat.kill(WEB);
        eventually().until(() -> homeostat.events(WEB).contains("START_FAILED 2"));

        homeostat.run("rollback", WEB).exits(0);

        assertEquals("RUNNING 1", homeostat.state(WEB));
    }

    private Document breakable(int revision) {
        String script = "test -e " + flag(revision) + " && exit 4\nexec sleep 1000";
        return web(Integer.toString(revision), bucket.put(revision + ".tar.gz", TarGz.ofScript(script)))
                .with("start.timeout", "5s")
                .with("start.attempts", 2);
    }

    private void breaks(int revision) {
        homeostat.file(flag(revision).getFileName().toString(), "");
    }

    private Path flag(int revision) {
        return homeostat.directory().resolve("breaks" + revision);
    }

    @Tag("nightly")
    @Test
    void whatCrashesWhileAFormerRevisionCanNotBeFetchedIsStartedAgain() throws IOException {
        Stored first = stored(1);
        homeostat.applied(web("1", first).with("keepRevisions", 1));
        homeostat.applied(web("2", stored(2)).with("keepRevisions", 1));
        Trees.delete(homeostat.stateDir().resolve("cache"));
        bucket.expire(first);
        homeostat.agent().awaitReady();
        homeostat.run("rollback", WEB).exits(1).says("install 1");
        long pid = homeostat.pid(WEB);
        assertEquals(List.of("SUPERSEDED", "CURRENT", "PENDING"), standings());
        assertEquals("1", homeostat.status(WEB).get("pendingRevision").asText());
        homeostat.run("plan").exits(0).says("spec.revision: 2 -> 1").says("could not install 1, 2 runs on");

        homeostat.run("restart", WEB).exits(0).says("restarted");
        homeostat.awaitAnother(WEB, pid);
        homeostat.awaitAnother(WEB, homeostat.kill(WEB));
        eventually().until(() -> homeostat.state(WEB), "RUNNING 2"::equals);

        homeostat.run("rollback", WEB).exits(1).says("install 1");
        homeostat.run("history", WEB).exits(0).says("pending     ").says(" number 1; downloading");
    }

    @Tag("nightly")
    @Test
    void whatWasNeverFetchedIsNothingToGoBackTo() throws IOException {
        Stored first = stored(1);
        homeostat.applied(web("1", first));
        homeostat.applied(web("2", stored(2)));
        homeostat.applied(web("3", stored(3)));
        Trees.delete(homeostat.stateDir().resolve("cache"));
        bucket.expire(first);
        homeostat.agent().awaitReady();
        homeostat.run("rollback", WEB, "--to", "1").exits(1).says(" 1, 3 runs on");
        assertEquals(List.of("SUPERSEDED", "SUPERSEDED", "CURRENT", "PENDING"), standings());

        homeostat
                .apply(homeostat.file(
                        "bad.yaml",
                        web("4", bucket.put("4.tar.gz", TarGz.ofScript("exit 7")))
                                .with("start.attempts", 1)))
                .exits(1);
        eventually().until(() -> homeostat.state(WEB), "RUNNING 3"::equals);
        assertEquals(List.of("web_2", "web_3"), keptBeside("web_4"));
        assertTrue(homeostat.events(WEB).contains("INSTALL_FAILED 1"), homeostat.events(WEB)::toString);

        homeostat.run("rollback", WEB, "--to", "2").exits(0).says("rolled back 3 -> 2");
        homeostat.run("rollback", WEB, "--to", "1").exits(1).says(" 1, 2 runs on");
        homeostat.awaitAnother(WEB, homeostat.kill(WEB));
        eventually().until(() -> homeostat.state(WEB), "RUNNING 2"::equals);
        assertTrue(standings().contains("CURRENT"), standings()::toString);

        homeostat.run("stop", WEB).exits(0);
        homeostat.run("start", WEB);
        eventually().until(() -> homeostat.state(WEB), "RUNNING 2"::equals);
    }

    private List<String> keptBeside(String failed) {
        return installed().stream().filter(one -> !one.equals(failed)).toList();
    }

    @Tag("nightly")
    @Test
    void whatCrashesWhileItsUpgradeIsFetchedIsNotToWaitForThat() {
        homeostat.applied(web("1", stored(1)));
        Stored second = stored(2);
        bucket.answer(second, Bucket.slow(second.content(), 60_000));
        homeostat.agent().awaitReady();
        Command upgrade = homeostat.start(
                "apply", "-f", homeostat.file("2.yaml", web("2", second)).toString());
        eventually().until(() -> bucket.requests(second) > 0);

        homeostat.awaitAnother(WEB, homeostat.kill(WEB));
        eventually().until(() -> homeostat.state(WEB), "RUNNING 1"::equals);

        long pid = homeostat.pid(WEB);
        homeostat.run("restart", WEB).exits(0).says("restarted");
        homeostat.awaitAnother(WEB, pid);
        homeostat
                .run("rollback", WEB)
                .exits(0)
                .says("revision 2 had not worked yet, and is not tried again until homeostat resume process/web");
        upgrade.kill();
    }

    @Tag("nightly")
    @Test
    void whatIsNotWellWhileItsUpgradeIsFetchedIsRestartedMeanwhile() throws IOException {
        Path well = homeostat.file("well", "");
        homeostat.applied(web("1", stored(1))
                .with("probe.exec.command", new String[] {"/usr/bin/test", "-e", well.toString()})
                .with("health.interval", "1s")
                .with("health.failureThreshold", 1));
        Stored second = stored(2);
        bucket.answer(second, Bucket.slow(second.content(), 60_000));
        homeostat.agent().awaitReady();
        Command upgrade = homeostat.start(
                "apply", "-f", homeostat.file("2.yaml", web("2", second)).toString());
        eventually().until(() -> bucket.requests(second) > 0);
        long pid = homeostat.pid(WEB);

        Files.delete(well);
        eventually().until(() -> homeostat.state(WEB), "STARTING 1"::equals);
        homeostat.file("well", "");

        homeostat.awaitAnother(WEB, pid);
        eventually().until(() -> homeostat.state(WEB), "RUNNING 1"::equals);
        assertEquals(1, bucket.requests(second), "the download went on beside that");
        upgrade.kill();
    }

    @Tag("nightly")
    @Test
    void whatRanBeforeComesBackInThePlaceOfWhatDoesNotStartUntilARevisionIsFetched() throws IOException {
        Stored first = stored(1);
        homeostat.applied(web("1", first));
        homeostat.applied(web("2", stored(2)));
        homeostat.applied(web("3", stored(3)));
        Trees.delete(homeostat.stateDir().resolve("cache"));
        bucket.expire(first);
        homeostat.agent().awaitReady();
        Document hanging =
                web("4", stored(4)).with("probe.tcp.address", "127.0.0.1:1").with("start.timeout", "1h");
        Command apply =
                homeostat.start("apply", "-f", homeostat.file("4.yaml", hanging).toString());
        eventually().until(() -> homeostat.state(WEB), "STARTING 4"::equals);

        homeostat.run("rollback", WEB, "--to", "1").exits(1).says("could not install 1");

        eventually().until(() -> homeostat.state(WEB), "RUNNING 3"::equals);
        apply.kill();
    }

    @Tag("nightly")
    @Test
    void whatCanNotBeLaunchedIsGoneBackFromFurther() throws IOException {
        for (int revision = 1; revision <= 3; revision++) {
            Path program = Files.createSymbolicLink(program(revision), Path.of("/bin/sleep"));
            homeostat.applied(Document.process("web")
                    .with("install", "local")
                    .with("entryPoint", program.toString())
                    .with("arguments", new String[] {"1000"})
                    .with("start.attempts", 1));
        }
        Files.delete(program(2));

        homeostat.run("rollback", WEB).exits(1).says("program2 ");
        homeostat.run("rollback", WEB).exits(0);

        homeostat.run("history", WEB).exits(0).says("current      ").says(" number 1");
    }

    private Path program(int revision) {
        return homeostat.directory().resolve("program" + revision);
    }

    @Tag("nightly")
    @Test
    void whatIsDeclaredAndNeverLaunchedEndsNothing() {
        homeostat.applied(web("1", stored(1)));
        homeostat.applied(web("2", stored(2)));
        homeostat.run("rollback", WEB).exits(0);
        homeostat.run("resume", WEB).exits(0);
        homeostat.applied(web("3", stored(3)));

        JsonNode revisions =
                homeostat.run("history", WEB, "-o", "json").exits(0).json().get("revisions");

        assertEquals(List.of("SUPERSEDED", "ROLLED_BACK", "SUPERSEDED", "ABANDONED", "CURRENT"), standings());
        assertEquals(revisions.get(4).get("launchedAt"), revisions.get(2).get("until"));
        assertEquals(revisions.get(4).get("triedAt"), revisions.get(3).get("until"));
    }

    @Tag("nightly")
    @Test
    void whyItWasGoneBackFromIsKept() throws IOException {
        homeostat.applied(web("1", stored(1)));
        Stored second = stored(2);
        bucket.expire(second);
        homeostat.apply(web("2", second)).exits(1);

        homeostat.run("rollback", WEB).exits(0);

        homeostat.run("history", WEB).exits(0).says("abandoned").says(" 2 to 1 (number 1); 2 had failed: downloading");
    }

    @Tag("nightly")
    @Test
    void whoWantsSomethingElseMeanwhileIsTold() throws IOException {
        Path well = homeostat.file("well", "");
        homeostat.applied(
                web("1", stored(1)).with("probe.exec.command", new String[] {"/usr/bin/test", "-e", well.toString()}));
        homeostat.applied(web("2", stored(2)));
        homeostat.agent().awaitReady();
        Files.delete(well);
        Command rollback = homeostat.start("rollback", WEB);
        eventually().until(() -> homeostat.state(WEB).startsWith("STARTING 1"));

        homeostat.applied(web("3", stored(3)));

        rollback.await(Patience.LONGEST)
                .exits(1)
                .says("process/web  failed")
                .says("declared meanwhile")
                .doesNotSay("chooses another one");
        homeostat.run("rollback", WEB, "--to", "2").exits(0);
        Command again = homeostat.start("rollback", WEB, "--to", "1");
        eventually().until(() -> homeostat.state(WEB).startsWith("STARTING 1"));
        homeostat.run("resume", WEB).exits(0);
        again.await(Patience.LONGEST).exits(1).says("taken back meanwhile");
        Command third = homeostat.start("rollback", WEB, "--to", "1");
        eventually().until(() -> homeostat.state(WEB).startsWith("STARTING 1"));
        homeostat.run("rollback", WEB, "--to", "2").exits(0);
        third.await(Patience.LONGEST)
                .exits(1)
                .says("another revision meanwhile")
                .doesNotSay("chooses another one");
    }

    @Test
    void withNothingToGoBackToNothingIsDone() {
        homeostat.applied(Document.script("web", "exec sleep 1000"));
        long pid = homeostat.pid(WEB);

        homeostat.run("rollback", WEB).exits(1).says("remembered of process/web");
        homeostat.run("rollback", "process/no").exits(1).says("process/no ");
        homeostat.run("rollback", WEB, "--to", "0").exits(1).says("revision 0");
        homeostat.run("rollback", WEB, "--to", "").exits(64).says("--to: empty; homeostat history shows");
        homeostat.run("history", "process/no").exits(3).says("process/no");

        assertEquals(pid, homeostat.pid(WEB));
        assertEquals(List.of("CURRENT"), standings());
    }

    @Tag("nightly")
    @Test
    void whatChangedInPlaceIsGoneBackToByItsNumberOnly() {
        homeostat.applied(Document.script("web", "exec sleep 1000"));
        homeostat.applied(Document.script("web", "exec sleep 1000").with("health.interval", "7s"));
        assertEquals(List.of("SUPERSEDED", "CURRENT"), standings());
        // What runs was launched for number 2.
        homeostat.run("restart", WEB).exits(0);
        long pid = homeostat.pid(WEB);

        homeostat
                .run("rollback", WEB)
                .exits(1)
                .says("another program")
                .says("homeostat history process/web shows them, for --to REVISION");
        homeostat.run("rollback", WEB, "--to", "1").exits(0);

        assertEquals(pid, homeostat.pid(WEB));
        assertEquals("True", Homeostat.condition(homeostat.status(WEB), "RolledBack"));
        assertEquals(List.of("SUPERSEDED", "ROLLED_BACK", "CURRENT"), standings());
        assertNotEquals("none", lastRollback());
    }

    @Test
    void aFormerConfigurationIsGoneBackToInPlace() {
        String greeter = "plugin/greeter";
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        Document plugin =
                Document.greeter("greeter", "1", bucket.signedUrl(archive)).with("source.sha256", archive.sha256());
        homeostat.applied(plugin.with("config.string", "one"));
        homeostat.applied(plugin.with("config.string", "two"));
        // What runs was launched for number 2.
        homeostat.run("restart", greeter).exits(0);
        long pid = homeostat.pid(greeter);

        homeostat.run("rollback", greeter).exits(0).says("configured");

        assertEquals(pid, homeostat.pid(greeter));
        assertEquals("True", Homeostat.condition(homeostat.status(greeter), "RolledBack"));
        assertEquals(List.of("SUPERSEDED", "ROLLED_BACK", "CURRENT"), standings(greeter));
        assertTrue(homeostat.events(greeter).contains("AGENT_ROLLED_BACK 1"));
    }

    private List<String> standings() {
        return standings(WEB);
    }

    private List<String> standings(String workload) {
        return homeostat
                .run("history", workload, "-o", "json")
                .exits(0)
                .json()
                .get("revisions")
                .findValuesAsText("status");
    }

    @Tag("nightly")
    @Test
    void asManyRevisionsStayInstalledAsAreToBeKept() {
        for (int revision = 1; revision <= 4; revision++) {
            homeostat.applied(web(Integer.toString(revision), stored(revision)));
        }
        assertEquals(List.of("web_3", "web_4"), installed());

        homeostat.applied(web("4", stored(4)).with("keepRevisions", 1));
        assertEquals(List.of("web_4"), installed());

        homeostat.run("delete", WEB).exits(0);
        assertEquals(List.of(), installed());
    }

    private List<String> installed() {
        return Trees.listing(homeostat.instance()).keySet().stream()
                .filter(path -> path.matches("processes/web_[0-9]"))
                .map(path -> path.substring("processes/".length()))
                .sorted()
                .toList();
    }

    private Stored stored(int revision) {
        return bucket.put(revision + ".tar.gz", TarGz.ofScript("echo " + revision + "\nexec sleep 1000"));
    }

    private Document web(String revision, Stored archive) {
        return Document.process("web")
                .with("revision", revision)
                .with("entryPoint", "bin/run")
                .with("source.url", bucket.signedUrl(archive))
                .with("source.sha256", archive.sha256());
    }
}
