package io.homeostat.reconcile.agent.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ConnectionLimitTest {
    private final ConnectionLimit limit = new ConnectionLimit(2);

    private EmbeddedChannel connect() {
        return new EmbeddedChannel(limit.handler());
    }

    @Test
    void oneTooManyTakesThePlaceOfTheOneThatHasBeenIdleForLongest() {
        EmbeddedChannel first = connect();
        EmbeddedChannel second = connect();
        EmbeddedChannel third = connect();

        assertFalse(first.isOpen());
        assertTrue(second.isOpen() && third.isOpen());
    }

    @Test
    void manyAtOnceTakeThePlacesOfAsMany() {
        List<Channel> told = new ArrayList<>();
        // That one is closed becomes known after others were accepted.
        ChannelHandler slow = new ChannelOutboundHandlerAdapter() {
            @Override
            public boolean isSharable() {
                return true;
            }

            @Override
            public void close(ChannelHandlerContext context, ChannelPromise promise) {
                told.add(context.channel());
            }
        };
        Channel first = new EmbeddedChannel(slow, limit.handler());
        Channel second = new EmbeddedChannel(slow, limit.handler());

        connect();
        connect();

        assertEquals(List.of(first, second), told);
    }

    @Test
    void whatIsBeingServedStays() {
        EmbeddedChannel first = connect();
        limit.serving(first);
        EmbeddedChannel second = connect();
        EmbeddedChannel third = connect();

        assertTrue(first.isOpen() && third.isOpen());
        assertFalse(second.isOpen());

        limit.served(first);
        EmbeddedChannel fourth = connect();

        assertFalse(third.isOpen());
        assertTrue(first.isOpen() && fourth.isOpen());
    }

    @Test
    void whereAllAreServedOneMoreIsRefused() {
        EmbeddedChannel first = connect();
        EmbeddedChannel second = connect();
        limit.serving(first);
        limit.serving(second);

        assertFalse(connect().isOpen());
        assertTrue(first.isOpen() && second.isOpen());

        var _ = first.close();
        assertTrue(connect().isOpen());
    }
}
