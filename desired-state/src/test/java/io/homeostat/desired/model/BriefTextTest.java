package io.homeostat.desired.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class BriefTextTest {
    @Test
    void whatIsNotLongStaysAsItIs() {
        String longest = "x".repeat(BriefText.LONGEST);

        assertEquals(longest, BriefText.of(longest));
        assertEquals("plugin/a%20b", WorkloadId.plugin("a b").brief());
    }

    @Test
    void ofWhatIsLongTheBeginningAndAHashAreLeft() {
        String beginning = "\ud83d\ude00".repeat(1000);
        String brief = BriefText.of(beginning + "1");

        assertTrue(brief.length() <= BriefText.LONGEST, brief);
        assertTrue(brief.startsWith("\ud83d\ude00\ud83d\ude00"), brief);
        assertTrue(brief.codePoints().noneMatch(c -> c >= 0xd800 && c <= 0xdfff), brief);
        assertNotEquals(brief, BriefText.of(beginning + "2"));
    }
}
