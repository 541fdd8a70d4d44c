// The dumbbell of the benchmark in ns-3: one H-TCP flow over sender - router - router - receiver.
//
// Like the Longhaul side it gets rate and delay of the middle link, its buffer in packets and the duration, and writes the
// sender's state at every ACK to a file as a record of 64 bytes. It prints one line of JSON: the goodput of the receiver's
// application, the packets that crossed the middle link, and the packets dropped before it.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>

using namespace ns3;

namespace {

struct Options {
    double rate_mbps = 100;
    double rtt_ms = 40;
    uint32_t buffer_packets = 350;
    double duration_s = 10;
    uint32_t segments_per_ack = 2;
    std::string trace = "/dev/null";
};

const uint32_t kSegmentBytes = 1448;
const uint32_t kSocketBufferBytes = 64 << 20;
const uint16_t kPort = 5000;
// The other links add no queue and hardly any delay.
const double kAccessSpeedup = 10;
const char *const kAccessDelay = "1us";
const char *const kAccessQueue = "1000000p";

// The settings of Longhaul's guests: H-TCP, SACK, time stamps, window scaling, 10 segments at first, RTO from 200 ms.
void SetTcpDefaults(const Options &options)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpHtcp::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegmentBytes));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(kSocketBufferBytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(kSocketBufferBytes));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(options.segments_per_ack));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
}

NetDeviceContainer Link(Ptr<Node> from, Ptr<Node> to, double rate_mbps, Time delay, const std::string &queue)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate_mbps * 1e6))));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(queue));
    return link.Install(from, to);
}

Ipv4InterfaceContainer Assign(const NetDeviceContainer &link, const char *network)
{
    Ipv4AddressHelper addresses(network, "255.255.255.0");
    const Ipv4InterfaceContainer interfaces = addresses.Assign(link);
    // The helper puts fq_codel before the queue of the device; remove it to keep plain drop-tail.
    TrafficControlHelper().Uninstall(link);
    return interfaces;
}

// The same fields as in an ACK record of Longhaul's trace.
struct AckRecord {
    uint64_t t_ns = 0;
    uint32_t cwnd_bytes = 0, ssthresh_bytes = 0, inflight_bytes = 0, window_bytes = 0;
    int64_t rtt_ns = 0;
    uint64_t acked_bytes = 0;
    uint64_t unused[3] = {};
};
static_assert(sizeof(AckRecord) == 64, "as long as the other side's");

AckRecord now;
std::ofstream trace;

void OnCwnd(uint32_t, uint32_t value)
{
    now.cwnd_bytes = value;
}

void OnSsthresh(uint32_t, uint32_t value)
{
    now.ssthresh_bytes = value;
}

void OnInflight(uint32_t, uint32_t value)
{
    now.inflight_bytes = value;
}

void OnRtt(Time, Time value)
{
    now.rtt_ns = value.GetNanoSeconds();
}

void OnAck(Ptr<const Packet>, const TcpHeader &header, Ptr<const TcpSocketBase>)
{
    now.t_ns = Simulator::Now().GetNanoSeconds();
    now.acked_bytes = header.GetAckNumber().GetValue();
    now.window_bytes = header.GetWindowSize();
    trace.write(reinterpret_cast<const char *>(&now), sizeof(now));
}

void Follow(Ptr<BulkSendApplication> source)
{
    const Ptr<Socket> socket = source->GetSocket();
    socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&OnCwnd));
    socket->TraceConnectWithoutContext("SlowStartThreshold", MakeCallback(&OnSsthresh));
    socket->TraceConnectWithoutContext("BytesInFlight", MakeCallback(&OnInflight));
    socket->TraceConnectWithoutContext("RTT", MakeCallback(&OnRtt));
    socket->TraceConnectWithoutContext("Rx", MakeCallback(&OnAck));
}

Ptr<PacketSink> StartFlow(Ptr<Node> sender, Ptr<Node> receiver, Ipv4Address to, Time duration)
{
    PacketSinkHelper sinks("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), kPort));
    ApplicationContainer sink = sinks.Install(receiver);
    BulkSendHelper sources("ns3::TcpSocketFactory", InetSocketAddress(to, kPort));
    sources.SetAttribute("SendSize", UintegerValue(kSegmentBytes));
    ApplicationContainer source = sources.Install(sender);
    sink.Start(Seconds(0));
    source.Start(Seconds(0));
    source.Stop(duration);
    // The application creates its socket when it starts.
    Simulator::Schedule(NanoSeconds(1), &Follow, DynamicCast<BulkSendApplication>(source.Get(0)));
    return DynamicCast<PacketSink>(sink.Get(0));
}

uint64_t drop_count = 0;

void CountDrop(Ptr<const Packet>)
{
    ++drop_count;
}

} // namespace

int main(int argc, char *argv[])
{
    Options options;
    CommandLine arguments(__FILE__);
    arguments.AddValue("rate_mbps", "rate of the middle link", options.rate_mbps);
    arguments.AddValue("rtt_ms", "base round trip", options.rtt_ms);
    arguments.AddValue("buffer_packets", "waiting room in front of the middle link", options.buffer_packets);
    arguments.AddValue("duration_s", "length of the run", options.duration_s);
    arguments.AddValue("segments_per_ack", "segments that a delayed ACK acknowledges", options.segments_per_ack);
    arguments.AddValue("trace", "file for the sender's state at every ACK", options.trace);
    arguments.Parse(argc, argv);
    SetTcpDefaults(options);
    trace.open(options.trace, std::ios::binary);

    NodeContainer nodes;
    nodes.Create(4);
    InternetStackHelper().Install(nodes);
    const double access_mbps = options.rate_mbps * kAccessSpeedup;
    const std::string buffer = std::to_string(options.buffer_packets) + "p";
    const auto first = Link(nodes.Get(0), nodes.Get(1), access_mbps, Time(kAccessDelay), kAccessQueue);
    const auto middle = Link(nodes.Get(1), nodes.Get(2), options.rate_mbps, MicroSeconds(options.rtt_ms * 500), buffer);
    const auto last = Link(nodes.Get(2), nodes.Get(3), access_mbps, Time(kAccessDelay), kAccessQueue);
    Assign(first, "10.0.1.0");
    Assign(middle, "10.0.2.0");
    const Ipv4InterfaceContainer far = Assign(last, "10.0.3.0");
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    // A full device queue stops its input, so packets are dropped one layer above it.
    nodes.Get(1)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop", MakeCallback(&CountDrop));

    const Time duration = Seconds(options.duration_s);
    const Ptr<PacketSink> sink = StartFlow(nodes.Get(0), nodes.Get(3), far.GetAddress(1), duration);
    Simulator::Stop(duration);
    Simulator::Run();

    const auto queue = DynamicCast<PointToPointNetDevice>(middle.Get(0))->GetQueue();
    std::cout << "{\"goodput_bps\": " << static_cast<uint64_t>(sink->GetTotalRx() * 8 / options.duration_s)
              << ", \"packets\": " << queue->GetTotalReceivedPackets()
              << ", \"drops\": " << drop_count + queue->GetTotalDroppedPackets() << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
