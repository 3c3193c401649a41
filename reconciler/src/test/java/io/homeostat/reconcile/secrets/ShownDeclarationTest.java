package io.homeostat.reconcile.secrets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.homeostat.desired.model.Workload;
import io.homeostat.reconcile.Written;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ShownDeclarationTest {
    private static JsonNode shown(String specLine) {
        Workload workload = Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: web}
                spec:
                  install: local
                  entryPoint: /bin/web
                  %s
                """.formatted(specLine));
        return ShownDeclaration.of(
                        workload,
                        JsonNodeFactory.instance.textNode(SecretMask.MASK),
                        JsonNodeFactory.instance::textNode)
                .path("spec");
    }

    private static String arguments(String words) {
        String list =
                Arrays.stream(words.split(" ")).map(word -> '"' + word + '"').collect(Collectors.joining(", "));
        StringBuilder text = new StringBuilder();
        shown("arguments: [" + list + "]")
                .path("arguments")
                .forEach(word -> text.append(text.isEmpty() ? "" : " ").append(word.asText()));
        return text.toString();
    }

    private static String variable(String name, String value) {
        return shown("env: {" + name + ": \"" + value + "\"}")
                .path("env")
                .path(name)
                .asText();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--listen=127.0.0.1:8080",
                "-p 8080 -p127.0.0.1:80",
                "--config /etc/app/one.yaml",
                "/opt/app/releases/20251123T101010abcdef0123456789/bin/web",
                "--password-file=/run/secrets/pw --token-path /run/token",
                "web-server-v2-canary-2025-11-23T10:10:10Z",
                "git@github.com:org/repo.git user@host",
                "--user 1000:1000 --public-key abc",
                "--user=1000:1000 -u1000:1000 -udp:53 -unix:/run/a1.sock -update:always -url:http://h/a1",
                "550e8400-e29b-41d4-a716-446655440000",
                "org/app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                "https://user@example.org/path",
                "com.example.MyApplicationServer2025Main",
            })
    void whatIsNoSecretIsShown(String words) {
        assertEquals(words, arguments(words));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--password=hunter2 | --password=(masked)",
                "--db-passwd hunter2 -v | --db-passwd (masked) -v",
                "--auth --verbose | --auth --verbose",
                "-DdbPassword=hunter2 | -DdbPassword=(masked)",
                "--env=API_KEY=hunter2 | --env=API_KEY=(masked)",
                "--encryption-key hunter2 | --encryption-key (masked)",
                "postgres://app:hunter2@db/x | postgres://app:(masked)@db/x",
                "--db=app:hun@ter:2@db | --db=app:(masked)@db",
                "-u app:hunter2 | -u app:(masked)",
                "-uapp:hunter2 https://h/a | -uapp:(masked) https://h/a",
                "--user=app:hunter2 | --user=app:(masked)",
                "--proxy-user=app:hunter | --proxy-user=app:(masked)",
                "-psecr3t99 | -p(masked)",
                "https://h/a?X-Goog-Signature=abc | https://h/a?(masked)",
                "https://discord.com/api/webhooks/123/q7Rk2Zp0LmX9aVb4TnW8cYd1EfG/x |"
                        + " https://discord.com/api/webhooks/123/(masked)/x",
                "https://9f86d081884c7d659a2feaa0c55ad015@sentry.io/1 | https://(masked)@sentry.io/1",
                "https://glpat-abcdefghijklmnopqrst@gitlab.com/a.git | https://(masked)@gitlab.com/a.git",
                "https://hooks.slack.com/services/T0/B0/abc | https://hooks.slack.com/services/(masked)",
                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.abc- | (masked)",
                "AKIAIOSFODNN7EXAMPLE | (masked)",
                "ghp_abcdefghijklmnopqrstuvwxyz | (masked)",
                "xoxb-abcdefgh-abc | (masked)",
                "--id=9f86d081884c7d659a2feaa0c55ad015 | --id=(masked)",
                "q7Rk2/Zp0LmX9aVb4TnW8cYd1EfG | (masked)",
            })
    void whatNameOrFormGiveAwayIsNot(String words, String shown) {
        assertEquals(shown, arguments(words));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "curl -u app:hunter https://h/a | curl -u app:(masked) https://h/a",
                "curl -s --user 'app:hunter' https://h/a | curl -s --user 'app:(masked)' https://h/a",
                "curl --proxy-user=app:hunter https://h | curl --proxy-user=app:(masked) https://h",
                "curl -uapp:hunter2 https://h | curl -uapp:(masked) https://h",
                "docker run -u 1000:1000 a:b | docker run -u 1000:1000 a:b",
                "socat -u OPEN:/dev/ttyS0 STDOUT | socat -u OPEN:/dev/ttyS0 STDOUT",
                "date -u +%H:%M | date -u +%H:%M",
            })
    void loginsOfALineForAShellAreMasked(String line, String shown) {
        assertEquals(
                shown,
                shown("arguments: [-c, \"" + line + "\"]")
                        .path("arguments")
                        .path(1)
                        .asText());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "GREETING | hello | hello",
                "PWD | /srv/www | /srv/www",
                "TOKEN_FILE | /run/token | /run/token",
                "PUBLIC_KEY | abc | abc",
                "PGPASSWORD | hunter2 | (masked)",
                "SSHPASS | hunter2 | (masked)",
                "MYSQL_PWD | hunter2 | (masked)",
                "STRIPE_KEY | hunter2 | (masked)",
                "MASTERKEY | hunter2 | (masked)",
                "MONKEY | hunter2 | hunter2",
                "BASIC_AUTH | hunter2 | (masked)",
                "DATABASE_URL | mysql://app:hunter2@db/x | mysql://app:(masked)@db/x",
                "OPTIONS | a=1 password=hunter2 b=2 | a=1 password=(masked) b=2",
            })
    void variablesAreJudgedByTheirNamesFirst(String name, String value, String shown) {
        assertEquals(shown, variable(name, value));
    }

    @Test
    void aSecretVariableIsMaskedWhereAnArgumentRepeatsIt() {
        JsonNode spec = shown("env: {TOKEN: correct-horse, A: b}\n  arguments: [x, --name=correct-horse]");

        assertEquals("[\"x\",\"--name=(masked)\"]", spec.path("arguments").toString());
        assertEquals("b", spec.path("env").path("A").asText());
    }

    @ParameterizedTest
    @CsvSource({"abc@host:80/a, (masked)@host:80/a", "user:abc@host/a, (masked)@host/a", "host:80/@a, host:80/@a"})
    void whoLogsInWhereAnArchiveIsFetchedOrAProbeAsksIsASecret(String url, String masked) {
        assertEquals(
                "http://" + masked,
                shown("probe: {http: {url: \"http://" + url + "\"}}")
                        .at("/probe/http/url")
                        .asText());
        Workload plugin = Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: a}
                spec: {revision: "1", entryPoint: a, source: {url: "https://%s", sha256: "%s"}}
                """.formatted(url, "0".repeat(64)));
        assertEquals(
                "https://" + masked,
                ShownDeclaration.of(
                                plugin,
                                JsonNodeFactory.instance.textNode(SecretMask.MASK),
                                JsonNodeFactory.instance::textNode)
                        .at("/spec/source/url")
                        .asText());
    }

    @Test
    void aPrivateKeyIsMasked() {
        String shown = shown(
                        "env: {CERT: \"-----BEGIN RSA PRIVATE KEY-----\\nMIIabc\\n-----END RSA PRIVATE KEY-----\"}")
                .toString();
        assertFalse(shown.contains("MIIabc"), shown);
    }

    @Test
    void commandsOfProbesAreShownAlike() {
        assertEquals(
                "[\"/bin/check\",\"--token\",\"(masked)\",\"--port=80\"]",
                shown("probe: {exec: {command: [/bin/check, --token, hunter2, --port=80]}}")
                        .at("/probe/exec/command")
                        .toString());
    }

    @Test
    void aTextMadeToBeSlowIsNot() {
        ProcessorTime.assertGrowsWithTheTextOnly(size -> {
            String text = "a:".repeat(2_500 * size)
                    + "x@".repeat(2_500 * size)
                    + "-p".repeat(2_500 * size)
                    + "a1".repeat(2_500 * size)
                    + " -p1a".repeat(1_000 * size);
            assertTrue(variable("A", text).length() < text.length());
        });
    }
}
