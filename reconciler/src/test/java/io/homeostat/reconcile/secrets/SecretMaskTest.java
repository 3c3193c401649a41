package io.homeostat.reconcile.secrets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.Workload;
import io.homeostat.reconcile.Written;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SecretMaskTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '~',
            value = {
                "password=hunter2 and more | password=(masked) and more",
                "DB_PASSWORD: 'two words', next | DB_PASSWORD: (masked)', next",
                "{\"apiKey\":\"a\\\"b c\",\"n\":1} | {\"apiKey\":(masked)\",\"n\":1}",
                "{\"m\":\"{\\\"token\\\":\\\"a b\\\",\\\"n\\\":1}\"} | {\"m\":\"{\\\"token\\\":(masked)\\\",\\\"n\\\":1}\"}",
                "run --auth-token abc123 now | run --auth-token (masked) now",
                "Authorization: Digest a=\"b\" | Authorization: (masked)\"b\"",
                "with Bearer abcDEF.123-4 | with Bearer (masked)",
                "GET https://h/p?a=b&c=(d) done | GET https://h/p?(masked) done",
                "(see http://u:p@h:1/x) | (see http://(masked)@h:1/x)",
                "https://proxy/http://u:p@h/x#frag | https://proxy/http://(masked)@h/x#(masked)",
                "\"https://h/x?s=1\\\" | \"https://h/x?(masked)\\\"",
                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.abc- ok | (masked) ok",
                "PWD=/srv/www OLDPWD=/root MYSQL_PWD=hunter2 | PWD=/srv/www OLDPWD=/root MYSQL_PWD=(masked)",
                "a secretary came, at 12:30 | a secretary came, at 12:30",
            })
    void whatLooksLikeASecretIsTakenOut(String text, String masked) {
        assertEquals(masked, new SecretMask().mask(text));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '~',
            value = {
                "a/token: No such file or directory | a/token: No such file or directory",
                "cat: '/s/token': No such file or directory | cat: '/s/token': No such file or directory",
                "open /s/db_token: no such file or directory, 3 | open /s/db_token: no such file or directory, 3",
                "/etc/passwd: Permission denied | /etc/passwd: Permission denied",
                "cannot read ./api-token.txt: Is a directory | cannot read ./api-token.txt: Is a directory",
                "/s/token: Not a directory | /s/token: Not a directory",
                "awk: /s/token: cannot open file | awk: /s/token: cannot open file",
                "sh: 0: /s/token: Can't open | sh: 0: /s/token: Can't open",
                "sh: 1: /s/get-token: not found | sh: 1: /s/get-token: not found",
                "/s/token: Read-only file system | /s/token: Read-only file system",
                "/s/token: Operation not permitted | /s/token: Operation not permitted",
                "/s/token: No space left on device | /s/token: No space left on device",
                "/s/token: Too many open files | /s/token: Too many open files",
                "/s/token: Input/output error | /s/token: Input/output error",
                "/s/token: File exists | /s/token: File exists",
                "/s/token: File name too long | /s/token: File name too long",
                "/s/token: Too many levels of symbolic links | /s/token: Too many levels of symbolic links",
                "config/password=hunter2 | config/password=(masked)",
                "config/password:hunter2 | config/password:(masked)",
                "{\"app/password\": \"hunter2\"} | {\"app/password\": (masked)\"}",
                "{\\\"app/password\\\": \\\"hunter2\\\"} | {\\\"app/password\\\": (masked)\\\"}",
                "/etc/app.conf: token: abc | /etc/app.conf: token: (masked)",
                "/run/token: cannot open token: abc | /run/token: cannot open token: (masked)",
                "/prod/db/password: hunter2 | /prod/db/password: (masked)",
                "spring/datasource/password: hunter2 | spring/datasource/password: (masked)",
                "loaded ./conf/api_key: AKIA123456 | loaded ./conf/api_key: (masked)",
                "GET /v1/token: eyJhbGciOi | GET /v1/token: (masked)",
                "/s/token: notfound | /s/token: (masked)",
                "/s/token: not founded | /s/token: (masked) founded",
                "/s/token: x, not found | /s/token: (masked), not found",
                "token: not found | token: not found",
                "secret: not set | secret: not set",
                "ERROR token: is expired | ERROR token: is expired",
                "cannot read api_key: file not found | cannot read api_key: file not found",
                "api_key: connection refused | api_key: connection refused",
                "token: missing | token: missing",
                "db_password: authentication failed for user bob | db_password: authentication failed for user bob",
                "password: missing42 | password: (masked)",
                "password: expired-x | password: (masked)",
                "password=missing | password=(masked)",
            })
    void anErrorThatFollowsAColonIsShownAndWhateverElseDoesIsNot(String text, String masked) {
        assertEquals(masked, new SecretMask().mask(text));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '~',
            value = {
                "unexpected token: '}' at line 3 | unexpected token: '}' at line 3",
                "unexpected token: } at line 3 | unexpected token: } at line 3",
                "unexpected token: '}x' at line 3 | unexpected token: (masked)' at line 3",
            })
    void punctuationAloneIsNoSecret(String text, String masked) {
        assertEquals(masked, new SecretMask().mask(text));
    }

    @Test
    void whateverAKindMarksAsSecretIsLearntAndLeftOut() {
        Workload timer = Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Timer
                metadata: {name: tick}
                spec: {revision: "1", interval: 5s, words: open sesame}
                """);
        SecretMask mask = new SecretMask();
        DeclaredSecrets.learnGiven(timer, mask);

        assertEquals("it says (masked) at noon", mask.mask("it says open sesame at noon"));
        String shown = DeclaredSecrets.without(timer);
        assertTrue(shown.contains("\"words\" : \"(masked)\"") && shown.contains("5s"), shown);
    }

    @Test
    void whatIsInFilesIsMaskedAndTheirPathsAreShown(@TempDir Path root) throws Exception {
        Path variables = Files.writeString(root.resolve("web.env"), "A='correct horse'\nB=tr0ub4dor&3\n");
        Path token = Files.writeString(root.resolve("token"), "open sesame\n");
        Workload web = Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: web}
                spec:
                  install: local
                  entryPoint: /bin/web
                  envFiles: [%s, /nowhere/at/all]
                  env: {TOKEN: {file: %s}}
                """.formatted(variables, token));

        SecretMask mask = DeclaredSecrets.given(web);
        assertEquals(
                "(masked), (masked) and (masked) in " + token,
                mask.mask("correct horse, tr0ub4dor&3 and open sesame in " + token));
        String shown = DeclaredSecrets.without(web);
        assertTrue(shown.contains(variables.toString()) && shown.contains(token.toString()), shown);
    }

    @Test
    void shortSecretsOfAConfigurationAreKnownByTheirNamesOrAreAllOfIt() {
        assertEquals(
                "it is (masked) on level debug, number (masked)",
                configured("{struct: {db: {password: hunter2, level: debug}, token: 4711}}")
                        .mask("it is hunter2 on level debug, number 4711"));
        assertEquals(
                "token (masked), (masked), level debug",
                configured("{string: \"level: debug\\ntoken: abcd1\\npassword = 'hunter2'\\n\"}")
                        .mask("token abcd1, hunter2, level debug"));
        assertEquals("refused: (masked)", configured("{string: hunter2}").mask("refused: hunter2"));
    }

    /** Tried from each of its letters it would take minutes. */
    @Test
    @Timeout(30)
    void aConfigurationOfEndlessWordsIsLookedThroughOnce() {
        String words = IntStream.range(0, 14)
                .mapToObj(i -> "f" + i + ": " + "a".repeat(200_000))
                .collect(Collectors.joining(", "));
        assertEquals("nothing of it", configured("{struct: {" + words + "}}").mask("nothing of it"));
    }

    private static SecretMask configured(String config) {
        return DeclaredSecrets.given(Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: a}
                spec:
                  revision: "1"
                  install: local
                  entryPoint: /bin/a
                  config: %s
                """.formatted(config)));
    }

    @Test
    void whatHappensToReadLikeASecretIsShown() {
        String shown = DeclaredSecrets.without(Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: a}
                spec:
                  revision: "1"
                  source: {url: "https://bucket/a.tar.gz"}
                  entryPoint: run
                  config: {struct: {replicas: "1", entry: run}}
                """));

        assertTrue(shown.contains("\"revision\" : \"1\"") && shown.contains("\"entryPoint\" : \"run\""), shown);
        assertFalse(shown.contains("replicas"), shown);
    }

    @Test
    void aPrivateKeyIsTakenOutAlsoWhenItsEndIsCutOff() {
        String key = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\ndef";
        assertEquals("-----BEGIN RSA PRIVATE KEY-----(masked)", new SecretMask().mask(key));
        assertEquals(
                "-----BEGIN RSA PRIVATE KEY-----(masked)-----END RSA PRIVATE KEY-----",
                new SecretMask().mask(key + "\n-----END RSA PRIVATE KEY-----"));
    }

    @Test
    void whatIsKnownIsFoundWhereverItStandsAndOverlapsLeaveNoEnd() {
        SecretMask mask = new SecretMask();
        mask.learn("alpha-beta");
        mask.learn("beta-gamma");
        mask.learn("say \"it\"\nnow");
        assertEquals("x(masked)y", mask.mask("xalpha-beta-gammay"));
        assertEquals("{\"m\":\"(masked)\"}", mask.mask("{\"m\":\"say \\\"it\\\"\\nnow\"}"));
    }

    @Test
    void aShortWordIsOnlyFoundAsAWholeOneAndWhatIsOrdinaryNotAtAll() {
        SecretMask mask = new SecretMask();
        for (String word : new String[] {"plug", "info", "true", "8080", "ab", "    "}) {
            mask.learn(word);
        }
        assertEquals(
                "plugin unplug (masked)! info true 8080 ab    ",
                mask.mask("plugin unplug plug! info true 8080 ab    "));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "-----BEGIN PRIVATE KEY-----",
                "-----BEGIN PRIVATE KEY-----\"",
                "authorization:",
                "token=",
                "authorization:token=",
                "token='",
                "token=\\",
                "authorization:\\",
                "token=\"token='",
                "token=\\\"",
                "-token ",
                "basic ",
                "eyJabcdefgh ",
                "https://a:b@"
            })
    void whatIsRepeatedIsNotLookedThroughForEachTime(String text) {
        ProcessorTime.assertGrowsWithTheTextOnly(size ->
                assertFalse(new SecretMask().mask(text.repeat(1_000 * size)).isEmpty()));
    }

    @Test
    void aTextMadeToBeSlowIsNot() {
        SecretMask mask = new SecretMask();
        for (int i = 0; i < 20_000; i++) {
            mask.learn("secret number " + i);
        }

        ProcessorTime.assertGrowsWithTheTextOnly(size -> {
            String text = "://a?".repeat(500 * size)
                    + "token".repeat(2_500 * size)
                    + "-a".repeat(5_000 * size)
                    + "eyJ".repeat(1_200 * size)
                    + "-----BEGIN PRIVATE KEY-----".repeat(25 * size)
                    + "\\".repeat(5_000 * size);
            assertFalse(mask.mask(text).isEmpty());
        });
    }
}
