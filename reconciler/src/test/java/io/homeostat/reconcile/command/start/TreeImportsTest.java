package io.homeostat.reconcile.command.start;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What becomes of each key of pm2's ecosystems and of Nomad's jobs. All documents are valid. */
class TreeImportsTest extends ImportsFixture {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "args: \"a 'b c'\" | arguments: - a - b c",
                "args: [a, b c] | arguments: - a - b c",
                "cwd: /srv | workingDirectory: /srv",
                "env: {PORT: 8080} | env: PORT: '8080'",
                "env: {CHECK: \"0\"} | env: CHECK: '0'",
                "user: web | user: web",
                "autorestart: false | restart: policy: never",
                "autorestart: true | restart: policy: always",
                "max_restarts: 5 | giveUpAfter: 5",
                "min_uptime: 1000 | resetAfter: 1s",
                "min_uptime: 5s | resetAfter: 5s",
                "exp_backoff_restart_delay: 100 | initialDelay: 100ms",
                "restart_delay: 4000 | initialDelay: 4s",
                "kill_timeout: 1600 | stop: signal: SIGINT timeout: 1s600ms",
                "max_memory_restart: 200M | limits: memory: 200Mi",
                "interpreter: none | entryPoint: /srv/web",
                "watch: false | entryPoint: /srv/web",
            })
    void aKeyOfPm2IsAField(String line, String field) throws IOException {
        Drafts drafts = pm2("apps:\n- name: web\n  script: /srv/web\n  " + line + "\n");
        assertTrue(flat(drafts).contains(field), flat(drafts));
        assertEquals(List.of(), drafts.remarks());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "cron_restart: '0 0 * * *' | cron_restart: Homeostat restarts nothing by the clock",
                "watch: true | a restart for files that change is not there",
                "instances: 4 | its cluster shares a port between processes, which takes pm2; one is declared",
                "instances: max | cluster",
                "out_file: /var/log/a | log itself",
                "env_production: {A: b} | --env production takes it",
                "wait_ready: true | a probe",
                "namespace: a | such field",
                "max_memory_restart: lots | limits.memory",
                "kill_timeout: soon | stop.timeout is a duration",
                "env: {API_KEY: geheim} | env.API_KEY looks",
            })
    void whatPm2HasAndWeHaveNotIsToldWithItsLine(String line, String words) throws IOException {
        assertRemark(pm2("apps:\n- name: web\n  script: /srv/web\n  " + line + "\n"), 4, words);
    }

    @Test
    void whatIsNestedTooDeepIsRefused() {
        String apps = "[".repeat(10_000) + "]".repeat(10_000);

        String message = assertThrows(CommandFailure.class, () -> pm2(apps)).getMessage();

        assertTrue(
                String.valueOf(message).endsWith(" is nested deeper than 100 levels, as nothing that is taken over is"),
                message);
    }

    @Test
    void theVariablesOfAnEnvironmentWinWhereverTheyStand() throws IOException {
        Drafts drafts = pm2("""
                apps:
                - script: /srv/web
                  env_production: {MODE: production}
                  env: {MODE: test}
                """, Optional.empty(), Optional.of("production"));
        assertTrue(flat(drafts).contains("MODE: production"), flat(drafts));
    }

    @Test
    void whatIsZeroOrReplacedByNomadIsNotDroppedSilently() throws IOException {
        Drafts drafts = nomad("""
                {"Job": {"TaskGroups": [{"Count": 0, "Tasks": [{"Name": "a", "Driver": "raw_exec",
                  "Env": {"COLOUR": "0"},
                  "Config": {"force": false}},
                 {"Name": "b", "Driver": "raw_exec",
                  "Config": {"command": "${NOMAD_TASK_DIR}/run"}}]}]}}
                """);
        assertTrue(flat(drafts).contains("COLOUR: '0'"), flat(drafts));
        assertTrue(flat(drafts).contains("force: false"), flat(drafts));
        assertRemark(drafts, 1, "Nomad runs none of them");
        assertRemark(drafts, 5, "config.command has ${...} in it");
    }

    @Test
    void aScriptThatIsNotThereIsAProgramOfTheSystemIfThereIsOne() throws IOException {
        assertTrue(flat(pm2("{script: sh, args: -x}", Optional.empty(), Optional.empty()))
                .contains("entryPoint: " + Programs.find("sh").orElseThrow() + " arguments: - -x"));
        Path there = Files.createDirectory(directory.resolve("sh"));
        assertTrue(flat(pm2("{script: sh}", Optional.empty(), Optional.empty()))
                .contains("entryPoint: " + Programs.find("sh").orElseThrow()));
        Files.delete(there);
        Files.createFile(there);
        assertTrue(flat(pm2("{script: sh}", Optional.empty(), Optional.empty()))
                .contains("entryPoint: " + directory + "/sh"));
        assertTrue(flat(pm2("{script: none-such}", Optional.empty(), Optional.empty()))
                .contains("entryPoint: " + directory + "/none-such"));
    }

    @Test
    void instancesThatAreForkedAreADocumentEach() throws IOException {
        Drafts drafts = pm2("""
                {"apps": [
                \t{"script": "web.sh", "interpreter": "sh", "exec_mode": "fork", "instances": 2, "env_production": {"A": "b"}},
                \t{"name": "other", "script": "/srv/other"}
                ], "deploy": {"production": {"user": "a"}}}
                """, Optional.of("web"), Optional.of("production"));
        assertEquals(
                List.of("web-0", "web-1"),
                drafts.documents().stream().map(Draft::name).toList());
        assertTrue(flat(drafts).contains("env: NODE_APP_INSTANCE: '1' A: b"), flat(drafts));
        assertTrue(flat(drafts).contains("arguments: - " + directory + "/web.sh"), flat(drafts));
        assertRemark(drafts, 4, "deploy: Homeostat has nothing like it");
    }

    /** pm2 goes on with what it has, too. */
    @Test
    void anEnvironmentThatOnlyOtherAppsHaveChangesNothing() throws IOException {
        String apps = """
                apps:
                - {name: web, script: /srv/web, env: {A: a}, env_production: {A: b}}
                - {name: other, script: /srv/other, env: {A: a}}
                """;
        Drafts drafts = pm2(apps, Optional.empty(), Optional.of("production"));
        assertTrue(flat(drafts).contains("env: A: b"), flat(drafts));
        assertTrue(flat(drafts).contains("env: A: a"), flat(drafts));
        assertRemark(drafts, 3, "it has no env_production, so --env production changes nothing here");

        CommandFailure failure =
                assertThrows(CommandFailure.class, () -> pm2(apps, Optional.of("other"), Optional.of("production")));
        assertTrue(
                String.valueOf(failure.getMessage()).contains("eco.yaml:3: there is no env_production"),
                failure.getMessage());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{apps: [{name: a}]} | the app has no script",
                "{apps: []} | has no such app",
                "{apps: [{script: a, interpreter: none-such}]} | 'none-such'",
                "{apps: [{script: a, args: \"'\"}]} | closed",
                "{apps: [{script: [a]}]} | eco.yaml:1: a text or a number is wanted",
                "{apps: [{script: &a b, args: *a}]} | aliases (*), which are not read",
                "{apps: [ | neither JSON nor YAML",
            })
    void anEcosystemThatCanNotBeReadIsAnError(String text, String words) {
        CommandFailure failure = assertThrows(CommandFailure.class, () -> pm2(text));
        assertTrue(String.valueOf(failure.getMessage()).contains(words), failure.getMessage());
    }

    @Test
    void anEcosystemThatIsAProgramIsNotReadAndTheErrorSaysHowToConvertIt() {
        CommandFailure failure = assertThrows(
                CommandFailure.class,
                () -> Pm2Apps.drafts(directory.resolve("ecosystem.config.js"), Optional.empty(), Optional.empty()));
        assertTrue(String.valueOf(failure.getMessage()).contains("node -p 'JSON.stringify("), failure.getMessage());
    }

    @Test
    void aJobOfNomadIsItsTasksAndTheirDrivers() throws IOException {
        Drafts drafts = nomad("""
                {"Job": {"ID": "web", "Name": "web", "Type": "service", "Datacenters": ["dc1"], "Update": null,
                  "TaskGroups": [{"Name": "g", "Count": 3,
                    "RestartPolicy": {"Attempts": 2, "Delay": 15000000000, "Interval": 1800000000000, "Mode": "fail"},
                    "Networks": [{"DynamicPorts": [{"Label": "http"}]}],
                    "Tasks": [
                      {"Name": "web", "Driver": "raw_exec", "User": "www",
                       "Config": {"command": "/bin/sleep", "args": ["1000"], "none": null},
                       "Env": {"AB": "c", "DB_PASSWORD": "geheim"},
                       "Resources": {"CPU": 100, "MemoryMB": 64, "MemoryMaxMB": 128, "DiskMB": 0, "Networks": [{"MBits": 10}]},
                       "KillTimeout": 5000000000, "KillSignal": "SIGINT",
                       "Artifacts": [{"GetterSource": "https://example.com/web.tar.gz",
                          "GetterOptions": {"checksum": "sha256:0000000000000000000000000000000000000000000000000000000000000000"}}],
                       "Templates": [{"EmbeddedTmpl": "x"}],
                       "Vault": null},
                      {"Name": "other", "Driver": "raw_exec", "Config": {"command": "/bin/true"}}]}]}}
                """);
        String flat = flat(drafts);
        for (String field : List.of(
                "kind: Driver metadata: name: raw_exec",
                "entryPoint: /opt/nomad/plugins/raw_exec",
                "kind: Task metadata: name: web spec: driver: raw_exec",
                "config: command: /bin/sleep args: - '1000'",
                "AB: c",
                "memory: 64Mi",
                "memoryMax: 128Mi",
                "timeout: 5s",
                "signal: SIGINT",
                "user: www",
                "initialDelay: 15s",
                "giveUpAfter: 2",
                "url: https://example.com/web.tar.gz",
                "metadata: name: other")) {
            assertTrue(flat.contains(field), () -> field + " in " + flat);
        }
        assertEquals(3, drafts.documents().size());
        assertRemark(drafts, 4, "Networks: declare network and ports");
        assertRemark(drafts, 1, "Datacenters: Homeostat");
        assertRemark(drafts, 2, "declare as many Tasks");
        assertRemark(drafts, 3, "counted in a row");
        assertRemark(drafts, 8, "env.DB_PASSWORD looks");
        assertRemark(drafts, 9, "CPU: MHz");
        assertRemark(drafts, 9, "Networks: ");
        assertRemark(drafts, 13, "Templates: write the file");
        assertFalse(drafts.remarks().stream().anyMatch(remark -> remark.words().contains("Vault")));
    }

    @Test
    void whatAnArchiveOfNomadHasBesideItsChecksumIsTold() throws IOException {
        String artifact = """
                {"TaskGroups": [{"Tasks": [{"Name": "a", "Driver": "exec", "Artifacts": [{
                  "GetterSource": "https://example.com/web.tar.gz",
                  "GetterHeaders": {"Authorization": "Bearer geheim"},
                  "GetterMode": "file",
                  "RelativeDest": "local/web",
                  "GetterInsecure": true,
                  "Chown": false,
                  "GetterOptions": {"checksum": "sha256:%s",
                    "archive": false, "depth": "1"
                  }}]}]}]}
                """.formatted("0".repeat(64));
        Drafts drafts = nomad(artifact);
        assertRemark(drafts, 3, "GetterHeaders: Homeostat sends no headers of others");
        assertRemark(drafts, 4, "GetterMode: ");
        assertRemark(drafts, 5, "RelativeDest: an archive is unpacked into a directory of its revision");
        assertRemark(drafts, 6, "GetterInsecure: ");
        assertRemark(drafts, 9, "archive: Homeostat fetches an archive without options");
        assertRemark(drafts, 9, "depth: ");
        assertFalse(flat(drafts).contains("geheim"), flat(drafts));
        assertFalse(flat(drafts).contains("Chown"), flat(drafts));

        Drafts usual = nomad(artifact.replace("\"file\"", "\"any\"")
                .replace("local/web", "local/")
                .replace("true", "false")
                .replace("\"archive\": false", "\"archive\": null")
                .replaceAll("GetterHeaders.*", "GetterHeaders\": null,")
                .replace("\"1\"", "null"));
        assertEquals(
                List.of("entryPoint"),
                usual.remarks().stream().map(Draft.Remark::key).toList());
    }

    @Test
    void oneTaskOfABatchRunsOnce() throws IOException {
        Path file = Files.writeString(
                directory.resolve("job.json"),
                "{\"Type\": \"batch\", \"TaskGroups\": [{\"Tasks\": [{\"Name\": \"a\", \"Driver\": \"exec\"}, {\"Name\": \"b\", \"Driver\": \"docker\","
                        + " \"Artifacts\": [{\"GetterSource\": \"git::https://a/b\"}]}]}]}");
        Drafts drafts = NomadJob.drafts(file, Optional.of("b"));
        assertTrue(flat(drafts).contains("execution: type: oneShot"), flat(drafts));
        assertFalse(flat(drafts).contains("name: exec"), flat(drafts));
        assertRemark(drafts, 1, "source is one archive");
        CommandFailure unknown = assertThrows(CommandFailure.class, () -> NomadJob.drafts(file, Optional.of("c")));
        assertTrue(String.valueOf(unknown.getMessage()).contains("it has a, b"), unknown.getMessage());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "'Spec': '0 2 * * *', 'TimeZone': 'Europe/Berlin' | cron: 0 2 * * * timezone: Europe/Berlin",
                "'Spec': '0 2 1 * 1' | cron: 0 2 1 * 1 timezone: UTC",
                "'Spec': '0 2 */2 * *' | cron: 0 2 */2 * * timezone: UTC",
                "'Spec': ['*/15 * * * *'], 'TimeZone': null | cron: '*/15 * * * *' timezone: UTC",
                "'Enabled': true, 'Spec': '', 'Specs': ['5 4 * * 1'], 'ProhibitOverlap': true | cron: 5 4 * * 1 timezone: UTC",
            })
    void aPeriodicJobRunsByTheCalendarAlone(String periodic, String fields) throws IOException {
        Drafts drafts = nomad(periodic("batch", periodic));
        String triggers = "type: oneShot triggers: schedule: " + fields;
        assertEquals(3, flat(drafts).split(Pattern.quote(triggers), -1).length, flat(drafts));
        assertFalse(flat(drafts).contains("startup"), flat(drafts));
        assertEquals(
                List.of("entryPoint"),
                drafts.remarks().stream().map(Draft.Remark::key).toList());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "'Specs': ['0 2 * * *', '0 3 * * *']",
                "'Spec': '0 0 2 * * * *'",
                "'Spec': '0 0 30 2 *'",
                "'Spec': '0 2 */2 * 1'",
                "'Spec': '0 2 1 * */2'",
                "'Spec': '@daily'",
                "'Spec': '0 2 * * *', 'TimeZone': 'Local'",
                "'Enabled': true",
            })
    void aPeriodicJobThatNoCalendarOfOursIsLikeIsTold(String periodic) throws IOException {
        Drafts drafts = nomad(periodic("batch", periodic));
        assertRemark(drafts, 2, "Periodic: declare execution.triggers.schedule in place of startup");
        assertEquals(
                2,
                drafts.remarks().stream()
                        .filter(remark -> remark.words().contains("Periodic"))
                        .count());
        assertTrue(flat(drafts).contains("type: oneShot triggers: startup: true"), flat(drafts));
    }

    @Test
    void aJobThatNomadOnlyDispatchesIsTold() throws IOException {
        Drafts drafts = nomad("""
                {"Type": "batch",
                 "ParameterizedJob": {"Payload": "", "MetaRequired": ["day"]},
                 "TaskGroups": [{"Tasks": [{"Name": "a", "Driver": "exec"}]}]}
                """);
        assertRemark(
                drafts, 2, "ParameterizedJob: Nomad runs it only when it is dispatched; here it runs at each boot");
    }

    @Test
    void aJobWhosePeriodIsSwitchedOffRunsAtTheStart() throws IOException {
        Drafts drafts = nomad(periodic("sysbatch", "'Enabled': false, 'Spec': '0 2 * * *'"));
        assertTrue(flat(drafts).contains("type: oneShot triggers: startup: true"), flat(drafts));
        assertFalse(flat(drafts).contains("chedule"), flat(drafts));
    }

    /** A job of two tasks; quotes may be single. */
    private static String periodic(String type, String periodic) {
        return """
                {'Type': '%s',
                 'Periodic': {%s},
                 'TaskGroups': [{'Tasks': [{'Name': 'a', 'Driver': 'exec'}, {'Name': 'b', 'Driver': 'exec'}]}]}
                """.formatted(type, periodic).replace('\'', '"');
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "job \"web\" {} | nomad job run -output",
                "{\"Job\": {}} | has no such task",
                "{\"TaskGroups\": [{\"Tasks\": [{\"Name\": \"a\"}]}]} | there is no Driver here",
            })
    void aJobThatCanNotBeReadIsAnError(String text, String words) {
        CommandFailure failure = assertThrows(CommandFailure.class, () -> nomad(text));
        assertTrue(String.valueOf(failure.getMessage()).contains(words), failure.getMessage());
    }

    private Drafts pm2(String text) throws IOException {
        return pm2(text, Optional.empty(), Optional.empty());
    }

    private Drafts pm2(String text, Optional<String> only, Optional<String> environment) throws IOException {
        return Pm2Apps.drafts(Files.writeString(directory.resolve("eco.yaml"), text), only, environment);
    }

    private Drafts nomad(String text) throws IOException {
        return NomadJob.drafts(Files.writeString(directory.resolve("job.json"), text), Optional.empty());
    }
}
