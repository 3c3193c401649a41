package io.homeostat.reconcile.agent.frontend;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LogRotation;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogCursorTest {
    private static final int LENGTH = 64;

    @TempDir
    private Path directory;

    private Path log;
    private Path position;
    private LogCursor cursor;

    @BeforeEach
    void prepare() {
        log = directory.resolve("log");
        position = directory.resolve("position");
        cursor = new LogCursor(log, position);
    }

    private void append(String text) throws IOException {
        Files.writeString(log, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** Returns how many bytes were given up. */
    private long rotate(long maxTotalBytes, int keep) throws ActuationFailure {
        return new LogRotation().rotate(log, maxTotalBytes, keep).orElseThrow();
    }

    /** Reads the next piece; empty when there is none. */
    private String read(int length) throws IOException {
        ByteBuffer piece = ByteBuffer.allocate(length);
        boolean found = cursor.read(piece);
        assertEquals(found, piece.hasRemaining());
        return StandardCharsets.US_ASCII.decode(piece).toString();
    }

    private String take() throws IOException {
        String text = read(LENGTH);
        cursor.taken(text.length());
        return text;
    }

    @Test
    void aLogThatIsNotThereYetHasNothing() throws IOException {
        assertEquals("", read(LENGTH));
        assertFalse(cursor.isUnsure());

        append("first");
        assertEquals("first", read(LENGTH));
    }

    @Test
    void theSamePieceIsReadUntilItIsTaken() throws IOException {
        append("one two");

        assertEquals("one ", read(4));
        assertEquals("one ", read(4));
        cursor.taken(2);
        assertEquals("e tw", read(4));
        cursor.taken(4);
        assertEquals("o", read(4));
        cursor.taken(1);
        assertEquals("", read(4));
        assertFalse(cursor.isUnsure());
        assertEquals(0, cursor.givenUp());
    }

    @Test
    void whatWasTakenOutlivesTheReader() throws IOException {
        append("one two");
        assertEquals("one ", read(4));
        cursor.taken(4);
        assertEquals("4", Files.readString(position));

        cursor = new LogCursor(log, position);
        assertEquals("two", take());
        assertFalse(Files.exists(directory.resolve("position.new")));
    }

    @Test
    void aDamagedPositionIsTheBeginning() throws IOException {
        append("one");
        Files.writeString(position, "nonsense");

        assertEquals("one", take());
    }

    @Test
    void whatWasReadIsForgotten() throws IOException {
        append("one");
        take();

        cursor.forget();

        assertFalse(Files.exists(position));
        cursor.forget();
    }

    @Test
    void copiesAreReadBeforeTheLog() throws IOException, ActuationFailure {
        append("0123456789");
        assertEquals("0123", read(4));
        cursor.taken(4);
        assertEquals(0, rotate(20, 3));
        append("abc");

        assertEquals("456789", take());
        assertEquals("abc", take());
        assertEquals("", take());
        assertEquals(0, cursor.givenUp());
        assertFalse(cursor.isUnsure());
    }

    @Test
    void aPieceOfACopyIsNoLongerThanThereIsRoom() throws IOException, ActuationFailure {
        append("0123456789");
        assertEquals(0, rotate(20, 3));

        assertEquals("0123", read(4));
        cursor.taken(4);
        assertEquals("4567", read(4));
    }

    @Test
    void severalCopiesAreReadInTheirOrder() throws IOException, ActuationFailure {
        for (String text : new String[] {"first.....", "second....", "third....."}) {
            append(text);
            assertEquals(0, rotate(40, 4));
        }
        append("log");

        assertEquals("first.....", take());
        assertEquals("second....", take());
        assertEquals("third.....", take());
        assertEquals("log", take());
    }

    @Test
    void whatRotationGaveUpIsCountedOnce() throws IOException, ActuationFailure {
        append("one\n");
        assertEquals("one\n", take());
        append("x".repeat(500) + "\nlast\n");
        long lost = rotate(100, 4);
        assertTrue(lost > 4, "with what was read");

        assertEquals("last\n", take());
        assertEquals(lost - 4, cursor.givenUp());
        assertEquals(0, cursor.givenUp());
        assertEquals("", take());
    }

    @Test
    void aLogThatIsShorterThanWhatWasReadIsAnotherOneAfterTwoLooks() throws IOException {
        append("0123456789");
        take();
        Files.writeString(log, "new");

        assertEquals("", read(LENGTH));
        assertTrue(cursor.isUnsure(), "rotation marks its copies last");
        assertEquals("", read(LENGTH));
        assertTrue(cursor.isUnsure());
        assertEquals("", read(LENGTH));
        assertTrue(cursor.isUnsure());
        assertEquals("new", read(LENGTH));
        assertFalse(cursor.isUnsure());
    }

    @Test
    void aLogThatIsFoundShortOnceAndIsLongAgainIsTheSame() throws IOException {
        append("0123456789");
        take();
        for (int time = 0; time < 3; time++) {
            Files.writeString(log, "short");
            assertEquals("", read(LENGTH));
            assertEquals("", read(LENGTH));
            Files.writeString(log, "0123456789");
            assertEquals("", read(LENGTH));
            assertFalse(cursor.isUnsure());
        }
        append("more");
        assertEquals("more", take());
    }

    @Test
    void anotherLogAfterCopiesBeginsBehindThem() throws IOException, ActuationFailure {
        append("0123456789");
        take();
        assertEquals(0, rotate(20, 3));
        append("abcdef");
        assertEquals("abcdef", take());
        Files.writeString(log, "new");

        for (int look = 0; look < 3; look++) {
            assertEquals("", read(LENGTH));
        }
        assertEquals("new", take());
        assertEquals("13", Files.readString(position));
    }

    @Test
    void noLinkIsFollowed() throws IOException {
        Path secret = Files.writeString(directory.resolve("secret"), "secret");
        Files.createSymbolicLink(log, secret);

        assertThrows(FileSystemException.class, () -> read(LENGTH));
    }
}
