package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.platform.MetadataServer.Answer;
import io.homeostat.desired.platform.MetadataServer.Answer.Absent;
import io.homeostat.desired.platform.MetadataServer.Answer.Present;
import io.homeostat.desired.platform.MetadataServer.Answer.Unreachable;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class CachedMetadataTest {
    private Answer said = new Present("1");
    private int asked;
    private long nanos;
    private final CachedMetadata cache = new CachedMetadata(
            path -> {
                asked++;
                return said;
            },
            Duration.ofMinutes(1),
            Duration.ofSeconds(5),
            () -> nanos);

    @Test
    void anAnswerIsGoodForAWhileAndThenAskedForAgain() throws InterruptedException {
        assertEquals(new Present("1"), cache.get("a"));
        said = new Absent();
        nanos += Duration.ofSeconds(59).toNanos();
        assertEquals(new Present("1"), cache.get("a"));
        nanos += Duration.ofSeconds(2).toNanos();
        assertEquals(new Absent(), cache.get("a"));
        assertEquals(2, asked);
    }

    @Test
    void eachPathIsAQuestionOfItsOwn() throws InterruptedException {
        cache.get("a");
        cache.get("b");

        assertEquals(2, asked);
    }

    @Test
    void whoCouldNotBeReachedIsTriedAgainSooner() throws InterruptedException {
        said = new Unreachable("down");
        cache.get("a");
        cache.get("a");
        assertEquals(1, asked);

        said = new Present("1");
        nanos += Duration.ofSeconds(6).toNanos();
        assertEquals(new Present("1"), cache.get("a"));
    }
}
