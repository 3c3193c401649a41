package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.ProtocolException;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
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

    private static URI redirected(String location) throws ProtocolException {
        return HttpRequests.redirected(
                FROM, HttpHeaders.of(Map.of("Location", List.of(location)), (name, value) -> true));
    }
}
