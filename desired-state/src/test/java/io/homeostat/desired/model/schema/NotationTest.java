package io.homeostat.desired.model.schema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NotationTest {
    @ParameterizedTest
    @CsvSource({
        "0s, 0",
        "500ms, 500",
        "10s, 10000",
        "5m, 300000",
        "1h30m, 5400000",
        "1h1m1s1ms, 3661001",
        "90s, 90000",
        "1h5ms, 3600005",
        "999999999h, 3599999996400000"
    })
    void durationsAreRead(String text, long millis) {
        assertEquals(Optional.of(Duration.ofMillis(millis)), Notation.duration(text));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "5",
                "s",
                "-5s",
                "1.5s",
                "5 s",
                "1m1h",
                "1s1s",
                "1d",
                "1S",
                "1234567890s",
                "5sm",
                "PT5S",
                "٣s"
            })
    void whatIsNoDurationIsRefused(String text) {
        assertEquals(Optional.empty(), Notation.duration(text));
        assertEquals(false, text.matches(Notation.DURATION));
    }

    @Test
    void aDurationIsReadAsItWasWritten() {
        Random random = new Random(1);
        for (int i = 0; i < 1000; i++) {
            Duration duration = Duration.ofMillis(random.nextLong(1L << random.nextInt(1, 50)));
            String text = Notation.text(duration);
            assertEquals(Optional.of(duration), Notation.duration(text));
            assertEquals(true, text.matches(Notation.DURATION), text);
        }
    }

    @Test
    void whatIsFinerThanAMillisecondIsRoundedUp() {
        assertEquals("1ms", Notation.text(Duration.ofNanos(1)));
        assertEquals("1s1ms", Notation.text(Duration.ofNanos(1_000_000_001)));
        assertThrows(IllegalArgumentException.class, () -> Notation.text(Duration.ofNanos(-1)));
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "1, 1",
        "64Mi, 67108864",
        "1Gi, 1073741824",
        "1Ti, 1099511627776",
        "3Ki, 3072",
        "9223372036854775807, 9223372036854775807"
    })
    void sizesAreRead(String text, long bytes) {
        assertEquals(Optional.of(new Size(bytes)), Notation.size(text));
        assertEquals(text, Notation.text(new Size(bytes)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "Mi", "-1", "1.5Gi", "64MB", "64M", "64mi", "1 Gi", "9223372036854775808", "9999999Ti", "1Pi"
            })
    void whatIsNoSizeIsRefused(String text) {
        assertEquals(Optional.empty(), Notation.size(text));
    }

    @Test
    void sharesOfAProcessorAreRead() {
        assertEquals(Optional.of(new Cpu(250)), Notation.cpu("250%"));
        assertEquals("250%", Notation.text(new Cpu(250)));
        for (String text : new String[] {"", "%", "20", "0%", "-1%", "0.5%", "20 %", "1234567890%"}) {
            assertEquals(Optional.empty(), Notation.cpu(text), text);
        }
    }
}
