package io.homeostat.desired.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RedactionTest {
    @ParameterizedTest
    @CsvSource({
        "https://a.example/b.tgz, https://a.example/b.tgz",
        "https://a.example/b.tgz?sig=hush, https://a.example/b.tgz?...",
        "https://a.example/b.tgz#hush, https://a.example/b.tgz?...",
        "https://me:hush@a.example/b?x=hush, https://a.example/b?...",
        "file:///a/b@c.tgz, file:///a/b@c.tgz",
    })
    void aUrlIsShownWithoutWhatIsSecret(String url, String shown) {
        assertEquals(shown, Redaction.url(url));
    }

    @ParameterizedTest
    @CsvSource({
        "no url at all?, no url at all?",
        "GET https://a.example/b?sig=hush failed, GET https://a.example/b?... failed",
        "(https://a.example/b?sig=hush) and http://c?d=hush, (https://a.example/b?...) and http://c?...",
        "https://me:hush@a.example/b?x=hush y, https://a.example/b?... y",
        "https://a.example/@b mail@c, https://a.example/@b mail@c",
    })
    void everyUrlInATextIsShownWithoutWhatIsSecret(String text, String shown) {
        assertEquals(shown, Redaction.text(text));
    }

    /** In the square of its length this would take an hour. */
    @Test
    @Timeout(60)
    void aLongTextOfUrlsTakesNoLongerThanAnother() {
        String urls = "a://".repeat(1 << 20);

        assertEquals(urls, Redaction.text(urls));
    }
}
