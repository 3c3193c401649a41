package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ProtocolException;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** URLs of servers that write them as browsers take them. */
final class HttpRequestsTest {
    private static final URI FROM = URI.create("https://example.com/a/set.json?v=1");

    @ParameterizedTest
    @CsvSource({
        "https://other/b?c=%41&d=~'(e)', https://other/b?c=%41&d=~'(e)'",
        "//other:81/b, https://other:81/b",
        "c|d{e}?f g=<\"^`\\>, https://example.com/a/c%7Cd%7Be%7D?f%20g=%3C%22%5E%60%5C%3E",
        "/100%/%zz?[0]=1, https://example.com/100%25/%25zz?%5B0%5D=1",
        "https://[::1]:8443/[b], https://[::1]:8443/%5Bb%5D",
        "/b#c#d, https://example.com/b#c%23d",
    })
    void aRedirectIsFollowedAsBrowsersDo(String location, String to) throws Exception {
        assertEquals(to, redirected(location).toString());
    }

    @Test
    void bytesBeyondAsciiStayWhatTheyAre() throws Exception {
        byte[] sent = "/größe€".getBytes(StandardCharsets.UTF_8);

        assertEquals(
                "https://example.com/gr%C3%B6%C3%9Fe%E2%82%AC",
                redirected(new String(sent, StandardCharsets.ISO_8859_1)).toString());
    }

    @ParameterizedTest
    @CsvSource({
        "http://[/, the server redirects to something that is not a URL",
        "'', the server redirects without saying where: its answer has no Location",
        "'http:///b', 'the server redirects to no host; write one'",
        "'http://u:p@a b:80/', 'the server redirects to a host that can''t be fetched from, as its name ''a%20b'' is"
                + " none of DNS; use its address or another name'",
    })
    void aRedirectThatLeadsNowhereIsNot(String location, String problem) {
        assertEquals(
                problem,
                assertThrows(ProtocolException.class, () -> redirected(location))
                        .getMessage());
    }

    @Test
    void aServerThatQuotesTheRequestGivesNothingAway() {
        HttpRequest request = HttpRequests.authorized(
                        URI.create("https://joe:p%C3%A4ss%3Aword@example.com/a?sig=s3same%2Bd&x=1"))
                .header("x-amz-security-token", "s3ssion")
                .build();

        assertEquals(
                "GET /a?(masked) sig: (masked) or (masked), x: 1 Authorization: Basic (masked), which is (masked)"
                        + " and (masked); (masked)",
                HttpRequests.quoted(
                        request,
                        "GET /a?sig=s3same%2Bd&x=1\r\nsig: s3same%2Bd or s3same+d, x: 1\r\nAuthorization: Basic "
                                + Base64.getEncoder().encodeToString("joe:päss:word".getBytes(StandardCharsets.UTF_8))
                                + ", which is joe:päss:word and päss:word; s3ssion"));
    }

    @Test
    void aSignatureIsMaskedWhereverItStands() {
        HttpRequest request = HttpRequests.anonymous(FROM)
                .header("Authorization", "AWS4-HMAC-SHA256 Credential=id17/s3, SignedHeaders=host, Signature=abcdef")
                .build();

        assertEquals(
                "<Signature>(masked)</Signature><Id>(masked)</Id>",
                HttpRequests.quoted(request, "<Signature>abcdef</Signature><Id>id17/s3</Id>"));
    }

    @Test
    void noMoreThanTheBeginningOfAServersWordsIsQuoted() {
        HttpRequest request = HttpRequests.authorized(URI.create("https://joe:sesame@example.com/a"))
                .build();

        assertEquals(
                "a".repeat(290) + " (maske...", HttpRequests.quoted(request, "a".repeat(290) + "\nsesame, sesame"));
    }

    @Test
    void aHostThatIsLongerThanANameInDnsCanNotBeFetchedFrom() {
        String problem = assertThrows(ProtocolException.class, () -> redirected("https://" + "a".repeat(60_000) + "/"))
                .getMessage();

        assertTrue(String.valueOf(problem).length() < 500, problem);
    }

    private static URI redirected(String location) throws ProtocolException {
        return HttpRequests.redirected(
                FROM, HttpHeaders.of(Map.of("Location", List.of(location)), (name, value) -> true));
    }
}
