package io.homeostat.reconcile.command.start;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.DocumentFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What becomes of each key of a file of others: a field, or a remark with its line. All documents are valid. */
class ImportsTest extends ImportsFixture {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "User=web | user: web",
                "Group=www | group: www",
                "SupplementaryGroups=a b | supplementaryGroups: - a - b",
                "WorkingDirectory=/srv | workingDirectory: /srv",
                "UMask=77 | umask: '0077'",
                "UMask=0027 | umask: '0027'",
                "Nice=-5 | nice: -5",
                "OOMScoreAdjust=-900 | oomScoreAdjust: -900",
                "LimitNOFILE=65536 | rlimits: nofile: '65536'",
                "LimitNOFILE=1K:64K | rlimits: nofile: 1024:65536",
                "LimitCORE=infinity | rlimits: core: unlimited",
                "Restart=always | restart: policy: always",
                "Restart=on-failure | restart: policy: onFailure",
                "Restart=no | restart: policy: never",
                "Environment=\"A=b c\" D=e | env: A: b c D: e",
                "Environment=A=%n | env: A: web.service",
                "EnvironmentFile=/etc/default/web | envFiles: - /etc/default/web",
                "TimeoutStopSec=1min 30s | stop: timeout: 1m30s",
                "TimeoutStartSec=10 | start: timeout: 10s",
                "RestartSec=500ms | initialDelay: 500ms",
                "RestartMaxDelaySec=1h | maxDelay: 1h",
                "KillSignal=SIGINT | stop: signal: SIGINT",
                "MemoryMax=512M | limits: memory: 512Mi",
                "CPUQuota=150% | limits: cpu: 150%",
                "Type=oneshot | execution: type: oneShot triggers: startup: true",
            })
    void aSettingOfSystemdIsAField(String line, String field) throws IOException {
        Drafts drafts = unit("[Service]\nExecStart=/bin/true\n" + line + "\n");
        assertTrue(flat(drafts).contains(field), flat(drafts));
        assertEquals(List.of(), drafts.remarks());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "PrivateTmp=yes | PrivateTmp=yes: Homeostat has no such field",
                "ExecReload=/bin/kill -HUP $MAINPID | declare reload with the files to watch",
                "ExecStartPre=/bin/true | a Process has one command",
                "Type=forking | stay in the foreground",
                "Type=notify | declare a probe",
                "UMask=999 | umask can't be that",
                "Nice=low | nice can't",
                "KillSignal=SIGABRT | stop.signal can't",
                "KillMode=process | the whole process tree ends",
                "CPUQuota=1.5% | limits.cpu can't",
                "MemoryMax=50% | limits.memory is a number of bytes",
                "LimitCPU=1min | declare it in rlimits",
                "Restart=on-abort | restart.policy is what comes next",
                "TimeoutStopSec=infinity | stop.timeout is a duration",
                "WorkingDirectory=~ | it has to be an absolute path",
                "WorkingDirectory=-/srv | a directory that is missing is a failure",
                "EnvironmentFile=-/etc/default/web | nothing is launched while the file is missing",
                "EnvironmentFile=/etc/web/*.env | files are named one by one",
                "Environment=A=%H | Environment=A: it is no KEY=VALUE",
                "User=%i | it has a specifier (%) whose value can't be known here",
                "StandardOutput=journal | Homeostat keeps the log itself; homeostat logs shows it",
                "Environment=DB_PASSWORD=geheim | env.DB_PASSWORD looks like a secret",
            })
    void whatSystemdHasAndWeHaveNotIsToldWithItsLine(String line, String words) throws IOException {
        Drafts drafts = unit("[Service]\nExecStart=/bin/true\n\n" + line + "\n");
        assertRemark(drafts, 4, words);
    }

    @Test
    void unitAndInstallAreToldToo() throws IOException {
        Drafts drafts = unit("""
                [Unit]
                After=network.target db.service
                StartLimitBurst=3
                [Service]
                ExecStart=/bin/true
                [Install]
                WantedBy=multi-user.target
                [X-Own]
                A=b
                [Unit]
                Before=web.service
                Conflicts=other.service
                After=network.target
                [Install]
                DefaultInstance=tty1
                """);
        assertRemark(drafts, 2, "dependsOn");
        assertRemark(drafts, 3, "restart.giveUpAfter");
        assertRemark(drafts, 7, "started anyway");
        assertRemark(drafts, 9, "no such field");
        assertRemark(drafts, 11, "name this one in the dependsOn of that");
        assertRemark(drafts, 12, "nothing that is declared excludes another");
        assertRemark(drafts, 13, "only services can be declared");
        assertRemark(drafts, 15, "a document is of one instance");
        assertTrue(
                drafts.text(DocumentFormat.STANDARD, directory)
                        .contains(
                                "  # not taken over: After=network.target db.service: name it in dependsOn once it is declared, too (line 2)\n"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "/bin/echo \"a b\" 'c d' e\\x20f \\s | entryPoint: /bin/echo arguments: - a b - c d - e f - ' '",
                "/bin/echo 100%% $$HOME | entryPoint: /bin/echo arguments: - 100% - $HOME",
                "/bin/echo %p | arguments: - web",
                "/bin/echo a ; | arguments: - a restart",
                "/bin/echo a ; ; | arguments: - a restart",
                "/bin/find / -exec true {} \\; | arguments: - / - -exec - 'true' - '{}' - ;",
                "/bin/echo ';' a; \\;b | arguments: - ; - a; - \\;b",
                "/bin/echo \\xc3\\xa9\\303\\244 \\u00fc\\U0001f600 | arguments: - éä - ü\uD83D\uDE00",
            })
    void aCommandOfSystemdIsSplitAsItDoes(String command, String fields) throws IOException {
        Drafts drafts = unit("[Service]\nExecStart=" + command + "\n");
        assertTrue(flat(drafts).contains(fields), flat(drafts));
        assertEquals(List.of(), drafts.remarks());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-/bin/false | a failure is one",
                "@/bin/sh name | and not name",
                "+/bin/true | with all rights",
                "/bin/echo $HOME | Homeostat expands none",
                "/bin/echo ${HOME} | Homeostat expands none",
            })
    void whatACommandHasBesideIsTold(String command, String words) throws IOException {
        assertRemark(unit("[Service]\nExecStart=" + command + "\n"), 2, words);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ExecStart=/bin/echo %i | web.service:2: ExecStart: it has",
                "ExecStart=\"/bin/echo | the quote \" is not closed",
                "ExecStart=none-such | 'none-such' is in none of the system's directories; write an absolute path",
                "ExecStart=/bin/a ; /bin/b | several commands",
                "ExecStart=/bin/a ; ; /bin/b | several commands",
                "ExecStart=; | ExecStart: ",
                "User=web | has no ExecStart=",
                "nonsense | web.service:2: 'nonsense' is neither",
                "ExecStart=/bin/\\x0 | escape",
                "ExecStart=/bin/true \\x00 | an escape sequence stands for no character",
                "ExecStart=/bin/true \\777 | no character",
                "ExecStart=/bin/true \\x+f | an escape sequence has no number",
                "ExecStart=/bin/true \\u-123 | no number",
                "ExecStart=/bin/true \\ud800 | no character",
                "ExecStart=/bin/true \\U0000dfff | no character",
                "ExecStart=/bin/true \\xe9 | escape sequences stand for bytes that are no UTF-8",
                "ExecStart=/bin/true \\xc3n\\xa9 | no UTF-8",
            })
    void whatCanNotBeAProcessIsAnError(String line, String words) {
        CommandFailure failure = assertThrows(CommandFailure.class, () -> unit("[Service]\n" + line + "\n"));
        assertTrue(String.valueOf(failure.getMessage()).contains(words), failure.getMessage());
    }

    @Test
    void ofWhatThereCanBeOneTheLastOneCountsAndGroupsAreAdded() throws IOException {
        Drafts drafts = unit("""
                [Service]
                Type=oneshot
                Type=simple
                ExecStart=/bin/true
                MemoryMax=512M
                MemoryMax=infinity
                SupplementaryGroups=a
                SupplementaryGroups=b
                """);
        assertFalse(flat(drafts).contains("oneShot"), flat(drafts));
        assertFalse(flat(drafts).contains("memory"), flat(drafts));
        assertTrue(flat(drafts).contains("supplementaryGroups: - a - b"), flat(drafts));
    }

    @Test
    void ofSettingsForTheSameFieldTheLaterOneCounts() throws IOException {
        Path dropIns = Files.createDirectory(directory.resolve("web.service.d"));
        Files.writeString(dropIns.resolve("10.conf"), "[Service]\nTimeoutSec=7\nKillMode=mixed\n");

        Drafts drafts = unit("""
                [Service]
                ExecStart=/bin/true
                TimeoutSec=1
                TimeoutStopSec=2
                KillMode=process
                """);

        assertTrue(flat(drafts).contains("stop: timeout: 7s"), flat(drafts));
        assertEquals(List.of(), drafts.remarks());
    }

    @Test
    void ofACommandThatIsNotTakenOverOnlyTheKeyIsTold() throws IOException {
        Drafts drafts = unit("[Service]\nExecStart=/bin/true\nExecStop=/bin/stop -a geheim\n");
        assertRemark(drafts, 3, "ExecStop");
        assertFalse(flat(drafts).contains("geheim"), flat(drafts));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "a\\ | arguments: - a - User=web",
                "a\\\\ | arguments: - a\\ user: web",
                "a\\\\\\ | arguments: - a\\ - User=web",
                "a\\\\\\\\ | arguments: - a\\\\ user: web",
            })
    void aLineGoesOnAfterABackslashThatIsNotEscaped(String end, String fields) throws IOException {
        Drafts drafts = unit("[Service]\nExecStart=/bin/echo " + end + "\nUser=web\n");
        assertTrue(flat(drafts).contains(fields), flat(drafts));
    }

    @Test
    void dropInsAreReadInOrderAndAnEmptyValueTakesBack() throws IOException {
        Path dropIns = Files.createDirectory(directory.resolve("web.service.d"));
        Files.writeString(dropIns.resolve("20.conf"), "[Service]\nExecStart=/bin/true \\\n  # a comment\n  two\n");
        Files.writeString(dropIns.resolve("10.conf"), "[Service]\nExecStart=\nUser=other\nPrivateTmp=yes\n");
        Files.writeString(dropIns.resolve("30.txt"), "nonsense");
        Files.writeString(directory.resolve("web.timer"), "[Timer]\n");

        Drafts drafts = unit("[Service]\nExecStart=/bin/false\nUser=web\n");

        assertTrue(flat(drafts).contains("entryPoint: /bin/true arguments: - two user: other"), flat(drafts));
        assertTrue(
                drafts.remarks().stream()
                        .anyMatch(remark -> remark.line() == 4 && remark.file().endsWith("10.conf")),
                drafts.remarks()::toString);
        assertTrue(drafts.remarks().stream().anyMatch(remark -> remark.words().contains("web.timer")));
    }

    @Test
    void dropInsOfAnInstalledUnitMayBeInAnyOfSystemdsDirectories() throws IOException {
        Path installed = Files.createDirectories(directory.resolve("usr/lib/systemd/system"));
        dropIn("usr/lib", "web-shop@.service.d/20-user.conf", "User=of-the-package");
        dropIn("etc", "web-shop@.service.d/20-user.conf", "User=of-the-administrator");
        dropIn("etc", "web-shop@1.service.d/30.conf", "Group=of-one");
        dropIn("run", "web-shop@1.service.d/30.conf", "Group=until-the-next-boot");
        dropIn("run", "service.d/40.conf", "Nice=4");
        dropIn("usr/local/lib", "web-.service.d/50.conf", "UMask=0027");
        dropIn("usr/lib", "web-shop@1.service.d/60.conf", "PrivateTmp=yes");
        Files.createSymbolicLink(
                directory.resolve("etc/systemd/system/web-shop@1.service.d/60.conf"), Path.of("/dev/null"));
        dropIn("etc", "web-shop.service.d/70.conf", "User=of-another");
        Path unit = Files.writeString(installed.resolve("web-shop@1.service"), "[Service]\nExecStart=/bin/true\n");

        Drafts drafts = SystemdService.draft(unit, Optional.of("web"));

        assertTrue(
                flat(drafts).contains("user: of-the-administrator group: of-one nice: 4 umask: '0027'"), flat(drafts));
        assertEquals(List.of(), drafts.remarks());
    }

    private void dropIn(String tree, String name, String line) throws IOException {
        Path file = directory.resolve(tree).resolve("systemd/system").resolve(name);
        Files.createDirectories(file.resolveSibling(""));
        Files.writeString(file, "[Service]\n" + line + "\n");
    }

    @ParameterizedTest
    @CsvSource({"5,5000", "1min 20s,80000", "2.5h,9000000", "1d,86400000", "20 ms,20"})
    void spansOfSystemd(String text, long millis) {
        assertEquals(Optional.of(Duration.ofMillis(millis)), SystemdService.span(text));
    }

    @ParameterizedTest
    @CsvSource({"infinity", "5 parsecs", "-1", "1s x"})
    void noSpansOfSystemd(String text) {
        assertEquals(Optional.empty(), SystemdService.span(text));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "directory=%(here)s/x | workingDirectory: ${here}/x",
                "environment=A=\"b, c\",D='e',F=g | env: A: b, c D: e F: g",
                "user=web ; who runs it | user: web",
                "umask=022 | umask: '0022'",
                "user: web | user: web",
                "user:web ; who = runs it | user: web",
                "environment : A='b=c:d' | env: A: b=c:d",
                "autorestart=true | restart: policy: always",
                "autorestart=false | restart: policy: never",
                "autorestart=unexpected | restart: policy: onFailure",
                "exitcodes=0 | restart: policy: onFailure",
                "stopsignal=QUIT | stop: signal: SIGQUIT",
                "stopwaitsecs=20 | stop: timeout: 20s",
            })
    void aSettingOfSupervisorIsAField(String line, String field) throws IOException {
        Drafts drafts = supervisor("[program:web]\ncommand=/bin/true\n" + line + "\n");
        assertTrue(flat(drafts).contains(field.replace("${here}", directory + "")), flat(drafts));
        assertEquals(List.of(), drafts.remarks());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "priority=5 | dependsOn orders",
                "startsecs=5 | a probe",
                "startretries=5 | supervisor gives up",
                "exitcodes=0,2 | exit status 0 is the expected one",
                "stdout_logfile=/var/log/a | log itself",
                "redirect_stderr=true | one log anyway",
                "stopasgroup=true | process tree",
                "autostart=false | homeostat stop keeps it",
                "stopsignal=ABRT | by one of TERM",
                "directory=srv | absolute path",
                "directory=%(ENV_HOME)s | an expression whose value",
                "serverurl=AUTO | such field",
                "environment=API_TOKEN=geheim | env.API_TOKEN looks",
            })
    void whatSupervisorHasAndWeHaveNotIsToldWithItsLine(String line, String words) throws IOException {
        assertRemark(supervisor("[program:web]\ncommand=/bin/true\n\n" + line + "\n"), 4, words);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "command=/bin/%(ENV_X)s | expression",
                "command=./web | absolute path",
                "command=\"/bin/true | closed",
                "user=web | has no command",
                "command=/bin/true\\nnumprocs=many | number",
                "command=/bin/true\\nnumprocs=0 | from 1",
                "command=/bin/true\\nautorestart=maybe | true, false or unexpected",
                "command=/bin/true\\nenvironment=A=\"b,C=d | from character 1 on",
                "nonsense | web.conf:2: 'nonsense' is neither",
            })
    void aProgramOfSupervisorThatCanNotBeAProcessIsAnError(String lines, String words) {
        CommandFailure failure = assertThrows(
                CommandFailure.class, () -> supervisor("[program:web]\n" + lines.replace("\\n", "\n") + "\n"));
        assertTrue(String.valueOf(failure.getMessage()).contains(words), failure.getMessage());
    }

    @Test
    void eachProcessOfEachProgramOfSupervisorIsADocument() throws IOException {
        String text = """
                [supervisord]
                nodaemon=true
                [program:web]
                command=/bin/echo --port=80%(process_num)02d
                  "second word"
                process_name=%(program_name)s_%(process_num)02d
                numprocs=2
                numprocs_start=1
                [program:other]
                command=/bin/true
                numprocs=2
                [group:all]
                programs=web,other
                """;
        Drafts drafts = supervisor(text);

        assertEquals(
                List.of("web_01", "web_02", "other-0", "other-1"),
                drafts.documents().stream().map(Draft::name).toList());
        assertTrue(flat(drafts).contains("arguments: - --port=8002 - second word"), flat(drafts));
        assertRemark(drafts, 2, "[supervisord] nodaemon=true");
        assertRemark(drafts, 13, "give its programs a label");
        assertEquals(
                List.of("other-0", "other-1"),
                SupervisorPrograms.drafts(directory.resolve("web.conf"), Optional.of("other")).documents().stream()
                        .map(Draft::name)
                        .toList());
        CommandFailure unknown = assertThrows(
                CommandFailure.class,
                () -> SupervisorPrograms.drafts(directory.resolve("web.conf"), Optional.of("none")));
        assertTrue(String.valueOf(unknown.getMessage()).contains("it has web, other"), unknown.getMessage());
    }

    private Drafts unit(String text) throws IOException {
        return SystemdService.draft(Files.writeString(directory.resolve("web.service"), text), Optional.empty());
    }

    private Drafts supervisor(String text) throws IOException {
        return SupervisorPrograms.drafts(Files.writeString(directory.resolve("web.conf"), text), Optional.empty());
    }
}
