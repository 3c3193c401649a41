package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class ThreadWakerTest {
    @Test
    void aThreadThatWaitsInTheKernelIsWoken() throws Exception {
        useAChannel();
        CompletableFuture<Runnable> waker = new CompletableFuture<>();
        CompletableFuture<Integer> result = new CompletableFuture<>();
        int nobodyNotifies = Libc.eventfd();
        int norThis = Libc.eventfd();
        Thread.ofPlatform().daemon().start(() -> {
            waker.complete(ThreadWaker.ofThisThread());
            result.complete(Libc.awaitInput(nobodyNotifies, norThis));
        });

        Runnable wake = waker.get();
        Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> {
            wake.run();
            return result.isDone();
        });

        assertEquals(-Libc.EINTR, result.get());
        int _ = Libc.close(nobodyNotifies);
        int _ = Libc.close(norThis);
    }

    /** From then on Java handles the signal. */
    private static void useAChannel() throws IOException {
        Pipe pipe = Pipe.open();
        int _ = pipe.sink().write(ByteBuffer.wrap(new byte[1]));
        pipe.sink().close();
        pipe.source().close();
    }
}
