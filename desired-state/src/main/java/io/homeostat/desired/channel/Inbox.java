package io.homeostat.desired.channel;

import com.google.rpc.Status;
import io.homeostat.proto.acs.MessageBody;

/** Takes what a control plane sends. */
@FunctionalInterface
public interface Inbox {
    /**
     * Takes one message. Messages come one at a time, in the order in which they arrived, and the next one is not heard before this
     * one is acknowledged, nor are acknowledgements of ours: waiting for one here would be for ever. So only what has to be durable
     * before the acknowledgement is done here; whatever takes longer is done afterwards.
     *
     * <p>The same message may come again, also after others and through another connection, because its acknowledgement was lost.
     *
     * @param messageId as the control plane gave it
     * @return with which the message is acknowledged; the default instance says that all is well
     */
    Status receive(String messageId, MessageBody message) throws InterruptedException;
}
